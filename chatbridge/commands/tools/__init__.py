"""What agents see of commands: the tools, their results, and what they are told unasked."""
