"""Commands that ask, list and answer questions.

commands: the arguments of these commands
ask: `chatbridge ask` and `chatbridge notify`
files: `chatbridge show`, and what `--attach` names
lists: `chatbridge pending` and `chatbridge history`
stats: `chatbridge stats`
audit: `chatbridge audit`
stored: the questions in the database, where no hub runs
answer: `chatbridge answer` and `cancel`
nights: `chatbridge snooze`, `extend` and `quiet`
terminal_form: a question that is answered by typing, also for the demo
"""
