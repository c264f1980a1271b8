"""Many agents and many people at one hub for a while, over each store: `python -m tests.load`.

__main__: starts servers and sides, lets them work, prints what was measured
agents: a thousand agents in one process, behind links and over HTTP
document: writes the figures into the documentation
figures: the tables
people: who answers where, on test servers of the services
profiled_hub: a hub without the chats' pace, which says where its time goes
registry: every question from its call to the result, and what became of it
side: one hub over one store, with its agents and its people, in a process of its own
team: the people, their projects and the configuration of their hub
watched: what the kernel and the store know of a hub
"""
