"""The journal of a project: what `question_ask` was answered.

journal: where answers are saved and found
yaml_text: its files as YAML
"""
