"""When questions may ring, when they come back, and what a person missed in the night.

Modules:

    hours: quiet hours as periods of time
    policy: what the owner has set, and what it means for an ask at a time
    nights: the policy in force, with quiet hours that were switched on or off by hand
    summary: what the morning summary is about, and what it says
    summaries: hands the summary over when it is due
"""
