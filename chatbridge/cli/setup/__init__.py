"""`chatbridge setup`: from nothing to an answered question, at a terminal or by a script."""
