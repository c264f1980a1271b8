"""`chatbridge doctor`: looks at everything, changes nothing, and says what to do.

    run: all checks in their order, and their results
    screen: findings on a terminal
    context: what all checks look at
    files: checks of the configuration and of other files
    database: the check of the database
    hub: the check of the hub and its links
    approvals: the check of what agents may do without asking
    people: the check of people and routes
    clients: checks of MCP clients and commands
    tonight: checks of `--tonight`, whether agents can be left alone until the morning
    sleep: the check of whether the computer would go to sleep
    voice: the check of who turns voice messages into text
    computer: checks of the service and of the clock

Channels have their checks in their own folders.
"""
