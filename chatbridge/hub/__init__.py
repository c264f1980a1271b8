"""The hub: one process that owns the database, the tools and every channel."""
