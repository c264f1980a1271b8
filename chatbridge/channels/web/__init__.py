"""The web inbox: pages for a browser, and an API for scripts.

spec: what the rest of the program knows of this channel
settings: the table [web]
doctor: its checks for `chatbridge doctor`
channel: the inbox as a channel of the hub: listens and tells open pages of changes
server: sockets, HTTP connections and their time limits, on uvicorn
connection_limits: which connection makes way when a port is full
guard: hosts, origins, tokens and sessions that are let in; headers of every response
sessions: browsers that are logged in
login: logging in and out
app: the ASGI application, and how errors become responses
pages: the list, an ask with its form, the history
api: asks as JSON
events: the event stream
notices: notices on the pages, in the API and in the stream; outputs of commands
request_parsing: bodies as forms and JSON, and what a tap means
render: templates, static files and markdown as HTML
approval_html: what an approval is about, as HTML
"""
