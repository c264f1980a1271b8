"""Ways to a person. Each folder is one channel and knows only `core` and `markdown`."""
