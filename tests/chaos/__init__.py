"""A night of faults: real processes, a person who answers, a checker that compares their logs."""
