"""Commands about the hub, and how commands talk to it.

commands: the arguments of these commands, and of `chatbridge service` and `inbox`
hub_client: a connection to the hub: requests and events
tool_client: tool calls through a link of its own
remote_client: tool calls to a hub on another machine, over HTTP
status: `chatbridge status` and `version`
control: `chatbridge stop` and `restart`
"""
