"""The form that a person fills in to answer an ask.

Modules:

    form: what a person can do on a form, and what can come of it
    filling: how a form is filled in: the state machine of questions
    approval_form: the state machine of approvals
    typed_input: what a typed text means
    typed_times: times as people type them, for more time, snoozing and quiet hours
    yes_no: a typed yes or no, with a remark
    emoji_shortcuts: emoji that stand for buttons
"""
