"""When questions may ring at night, when they come back, and what a person missed.

Modules:

    hours: quiet hours as periods of time
    policy: what the owner has set, and what it means for an ask at a time
    nights: the policy in force, with quiet hours that were switched on or off by hand
    switching: what a person says to switch them, and the words for how they are
    later: more time for an ask, and snoozing it
    summary: what the morning summary is about, and what it says
    summaries: hands the summary over when it is due
"""
