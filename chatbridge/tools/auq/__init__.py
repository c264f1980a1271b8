"""auq's contract: questions with options, answered now or fetched later.

arguments: JSON schemas, and parsing
tool: both tools
results: what they return
"""
