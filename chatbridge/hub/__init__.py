"""The hub: one process that owns the database, the tools and every channel.

process: the hub's process: start, lock, log, and the service manager
wiring: what a hub consists of, and the order of starting and stopping
links: the socket, and the MCP sessions of links
http: MCP over HTTP, for agents on other machines
cluster: several hubs with one database, of which one leads
control: requests of a person's commands
"""
