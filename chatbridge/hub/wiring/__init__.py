"""What a hub consists of, and how its parts are put together.

hub: the parts of a hub, with the order of starting and stopping
core: the database, the broker, and what people may do with questions
server: the MCP server with all tools
serving: a hub with its ways in, from start to stop
database: the database, and the right to write there
channels: builds the channels
channel_supervisor: brings channels up and keeps them up
own_tools: chatbridge's own tools
commands: the owner's commands as tools
known_projects: the projects that agents were seen in
change_alerts: tells the chats of changed settings and commands
"""
