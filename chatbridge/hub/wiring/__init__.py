"""What a hub consists of, and how its parts are put together.

hub: the hub, with the order of starting and stopping
database: the database, and the right to write there
channel_supervisor: brings channels up and keeps them up
commands: the owner's commands as tools
known_projects: the projects that agents were seen in
change_alerts: tells the chats of changed settings and commands
"""
