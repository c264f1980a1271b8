"""Voice messages turned into text, by an endpoint or a command of the owner's choice.

Modules:

    settings: the table `[voice]`
    transcriber: who does it, by the settings
    endpoint: asks an endpoint with OpenAI's interface for transcriptions
    command: runs a program that writes the text to its standard output
"""
