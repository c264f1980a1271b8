"""Command-line tools for agents, defined by the owner in JSON files."""
