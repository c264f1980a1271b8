"""The runner: a small process beside the hub that starts commands and outlives the hub's restart.

Standard library only, like the link. It has none of the hub's secrets.
"""
