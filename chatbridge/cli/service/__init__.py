"""The hub as a service of its user: of systemd, or on macOS of launchd.

command: `chatbridge service`, which writes and removes a manager's files
manager: what a service manager does, and which one this computer has
systemd: the user's systemd
unit_files: its units as this installation needs them
launchd: the agents of macOS
"""
