"""The form that a person fills in to answer an ask.

Modules:

    form: the events of a person, and the state machine of questions that they drive
    approval_form: the state machine of approvals
    typed_input: what a typed text means
    typed_times: times as people type them, for more time, snoozing and quiet hours
    yes_no: a typed yes or no, with a remark
    emoji_shortcuts: emoji that stand for buttons
"""
