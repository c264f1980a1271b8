"""The hub's process: start, lock, log, and the service manager.

start: the commands `hub` and `mcp --standalone`
imports: imports that take a good part of a start
lock: the hub's lock, and the locks of chat accounts
log: what is written to standard error
systemd: socket, readiness and watchdog of a service
background: tasks that end with the hub
confinement: whether the hub has less of a network than its computer
standalone: hub and MCP server in one process
"""
