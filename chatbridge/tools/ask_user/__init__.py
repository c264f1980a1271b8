"""`ask_user`: a form of several questions, or a single one.

arguments: its JSON schema, and parsing
tool: the tool and its results
"""
