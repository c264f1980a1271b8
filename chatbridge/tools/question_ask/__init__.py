"""SwissArmyHammer's contract: one question, whose answer is kept in the project.

ask: `question_ask`
summary: `question_summary`
"""
