"""Real programs in front of a real hub, with a model that only pretends: `make clients`.

`model` is that model, `programs` and `adapters` say how each program is run, `desk` is the machine
of one run with its hub and its person, `scenes` is what happens there, `table` shows what came of
it. Nothing here reaches a network.
"""
