"""Services that are reached with aiohttp, and send what happens over a websocket.

errors: why one cannot be reached, and until when it may not be asked
files: what people send, and what is sent to them, as streams
loop: the loop that reads from such a connection
retold: that loop, where an event comes again until it is acknowledged
resumed: that loop, where events are numbered, and come again to who resumes their session
rest: a service's JSON over HTTP
session: the session of a service's client
"""
