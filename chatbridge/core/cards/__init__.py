"""The channel-neutral view of an ask, and the texts that all channels share.

Modules:

    card: the card and its buttons
    build: builds the card of an ask
    attached: files in words
    markup: the tree of a question's markup
    grants: what an approval allows beyond one use, in words
    sharing: who is on it, and to whom it was handed
    row: an ask as a row of a list
    outcome_text: sentences about how an ask ended
    operation_summary: the summary of an ended operation, and its output
    phrases: times, durations and other sentences
"""
