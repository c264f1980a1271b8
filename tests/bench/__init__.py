"""Figures, not tests: `make bench`. Each stands beside a reference measured in the same run."""
