"""`chatbridge doctor`: looks at everything, changes nothing, and says what to do.

    command: the command line
    run: all checks in their order, and their results
    context: what all checks look at
    screen: findings on a terminal
    files: checks of the configuration and of other files
    database: the check of the database
    hub: the check of the hub and its links
    clients: checks of MCP clients and commands
    service: the check of the systemd user service
    clock: the check of the computer's clock

Channels have their checks in their own folders.
"""
