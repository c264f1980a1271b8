"""Several hubs with one database, of which one leads.

member: a hub's life: it follows, leads, and follows again
certificates: how hubs know one another
port: where the leading hub takes what the others pass on
passing: how a following hub passes on links, commands and agents over HTTP
"""
