"""Commands that ask, list and answer questions.

ask: `chatbridge ask`
notify: `chatbridge notify`
pending: `chatbridge pending`
answer: `chatbridge answer`
cancel: `chatbridge cancel`
history: `chatbridge history`
terminal_form: a question that is answered by typing, also for the demo
"""
