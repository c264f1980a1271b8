"""`chatbridge doctor`: looks at everything, changes nothing, and says what to do."""
