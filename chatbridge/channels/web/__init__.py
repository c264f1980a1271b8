"""The web inbox: pages for a browser, and an API for scripts.

spec: what the rest of the program knows of this channel
settings: the table [web]
doctor: its checks for `chatbridge doctor`
channel: the inbox as a channel of the hub, and how errors become responses
certificate: a certificate of the owner's, for https without a proxy
secure_context: whether an address can be used by a phone, and leads to this hub
limits: how many connections there may be, and who makes way when they are too many
server: sockets and HTTP connections, on uvicorn
strict_http: what is refused of what httptools reads
guard: hosts, origins, tokens and sessions that are let in; headers of every response
sessions: browsers that are logged in
pages: the list, an ask with its form, the history, statistics, the log-in
stats_chart: the picture of the statistics
agents: the agents that are connected, and messages to them
attachments: files of asks and notices, downloads, previews and uploads
api: asks, notices and outputs of commands, for scripts
events: the event stream
shell: the service worker, and the page without a connection
push: browsers that ring, also while no page is open
request_parsing: bodies as forms and JSON, and what a tap means
addresses: addresses in agents' texts, and which of them can be opened
render: templates, static files, markdown and approvals as HTML
"""
