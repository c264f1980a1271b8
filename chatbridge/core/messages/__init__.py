"""Messages of the owner to a connected agent, and the agents that are connected.

message: a message and its states, and the words for it
messages: writing, handing over, confirming, taking back and expiring
agents: who is connected, under a name that can be typed
"""
