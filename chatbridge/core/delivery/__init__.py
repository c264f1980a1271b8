"""Brings asks and notices to the surfaces of all channels.

Modules:

    delivery: posts and edits cards until each surface shows the current revision
    queue: the order of asks on a surface, and its rate limit
    notices: stores and announces notices
    message_posts: says what has become of messages to agents, where they were written
    summary_post: sends the morning summary once to a surface, and keeps it up to date
"""
