"""The link, the process that an MCP client starts. Standard library only, to start fast.

Modules:

    loop: the `chatbridge mcp` process and its event loop
    relay: the state of requests between one client and successive hubs
    preface: the first line to a hub, which describes the link
    root: the root folder of a project
    search: finds a hub, or starts one
    hub_start: starts a detached hub
    unavailable: answers to the client while there is no hub
"""
