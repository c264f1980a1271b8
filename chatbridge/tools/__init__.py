"""MCP tools: they parse arguments into an ask and render its outcome. They know no channel.

server: the MCP server that all sessions share
late_server: the answers to the first requests, until the SDK is imported
offer: which tools a client sees
call: a tool, and one call of it: who calls, and how it shows that it waits
clients: MCP clients by name, and how long their calls may take
definition: arguments: pieces of schemas, checks, refusals
attachments: files in arguments and in results
waiting: asking, waiting and returning a ticket; the tool `wait_for_answer`
elicitation: the client's own window beside the chats
ask_user: the tool `ask_user`
auq: the tools `ask_user_questions` and `get_answered_questions`
question_ask: the tools `question_ask` and `question_summary`
journal: answers of `question_ask`, as files in the project
approvals: the tool `approve_tool_use`
notify_user: the tool `notify_user`
messages: what the owner writes, in the results of tools; the tool `check_messages`
what_next: the tool that Claude Code's hook calls when it stops
"""
