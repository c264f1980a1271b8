"""The form that a person fills in to answer an ask.

Modules:

    form: the state machine of questions and screens
    events: taps and texts, the input of the form
    approval: the form of an approval
    typed_input: what a typed text means
    emoji_shortcuts: emoji that stand for buttons
"""
