"""Web Push: browsers that ring, also while no page of the inbox is open.

settings: the table [push]: what a notification may say, and which push services count
subscriptions: the browsers that asked for it, each bound to its log-in, and the hub's keys
messages: what a notification says, and how it is encrypted, signed and sent
surface: when a browser rings, and when its notification is closed
doctor: its checks for `chatbridge doctor`
routes: subscribing, the list of browsers, and answers from a notification
"""
