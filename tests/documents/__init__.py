"""The documentation as something that tests can read: its pages, commands, snippets and links.

`pages` reads, `ways` says how each command is carried out, `stand_ins` are programs of others, and
`sandbox` is the machine on which all of it happens.
"""
