"""A channel of chatbridge: cards and answers are lines of a file."""
