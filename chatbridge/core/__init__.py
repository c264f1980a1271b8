"""The domain: what an ask is and how it is processed. No I/O, and no third party but pydantic.

Modules and sub-packages:

    model: asks, calls, posts and notices as immutable values
    operation: runs of command-line tools, and their store
    approval_rules: what the owner lets agents do without asking
    policy: the owner's limits for asks
    errors: every error that chatbridge raises on purpose
    ports: what channels and the clock implement
    store_port: protocols for the store and its transactions
    asks: opening, changing and ending asks
    people: who may do what, and where their cards go
    nights: when questions may ring, and when they come back
    forms: a person's input to an ask
    cards: what a person sees of an ask
    delivery: posting and editing cards, and sending notices
    messages: what the owner writes to agents that are connected
    statistics: how asks ended, and how long agents waited
    text: safe display of agents' text
    exact_text: unambiguous display of what an approval is about
    bounds: limits on agents' text
    pairing: codes that allow a person to answer
    login_codes: codes that log a browser in
    stored_json: values stored as JSON text
    tasks: background tasks, `race`, and pauses after failures
"""
