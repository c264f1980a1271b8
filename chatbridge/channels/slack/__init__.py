"""An app's bot in Slack, over the Web API and Socket Mode.

api: the requests that the channel makes, and what their errors mean
render: documents as rich text, buttons and lists as blocks, and the modal
chat: sends, edits and removes messages in one conversation
socket_mode: reads what happened, each exactly once, also after a gap
receiver: turns what happened into a tap, a command or a text
channel: all of it together
settings: its table
spec: what the rest of the program knows of it
setup: its part of `chatbridge setup`
doctor: its part of `chatbridge doctor`
"""
