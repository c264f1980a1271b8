"""Voice messages turned into text, by an endpoint or a command of the owner's choice."""
