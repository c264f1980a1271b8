"""The life of an ask, from the call that opens it to the answer that its caller receives.

Modules:

    broker: opens asks, applies changes in transactions, wakes the callers
    transitions: the state changes of an ask, as pure functions
    ask_actions: what channels may do with asks
    waiting_calls: the callers of an ask, and delivery to them
    dictation: turns voice messages into text in the background
    deadlines: what is due for an ask, and when
    scheduler: a timer for all asks
    answers: checks of complete answers
    reach: which channels have shown an ask
    serialize: asks as JSON
"""
