"""The systemd user service. Nothing else assumes systemd.

command: `chatbridge service`, which writes and removes the units
unit_files: the units as this installation needs them
manager: talks to systemd through its own commands
"""
