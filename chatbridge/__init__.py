"""chatbridge carries the questions of AI coding agents to their owner and the answers back."""

__version__ = "0.1.0"
