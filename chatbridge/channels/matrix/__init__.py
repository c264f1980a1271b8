"""The Matrix channel: cards as messages in threads, reactions and replies as form events."""
