"""Where asks, calls, posts and cursors are kept. One module per kind of database."""
