"""`chatbridge setup`: from nothing to an answered question, at a terminal or by a script.

    commands: the arguments of this command, and of others that are about this computer
    wizard: the command, and one question after the other
    scripted: what the flags say
    bots: the steps of a bot, whatever the service
    store: `chatbridge store copy`, from the SQLite file to a PostgreSQL server
    state: what the steps share, such as the test question

Channels have their steps in their own folders.
"""
