"""The runner: a small process beside the hub that starts commands and outlives the hub's restart.

Standard library only, like the link. It has none of the hub's secrets. It is there once for each
state directory (the lock `runner.lock`) and takes orders from one hub at a time, the newest.

Messages are lines of JSON. The hub begins with `{"hub": PROTOCOL}`. Then the runner says which
commands it runs, and which have ended and were not forgotten:
`{"runner": PROTOCOL, "pid": 1, "running": ["id"], "held": ["id"]}`, `{"ended": {…}}`.

The hub says `{"do": "start", "order": {…}}`, `{"do": "stop", "id": "…"}`, `{"do": "forget", …}`;
the runner `{"has": "id"}` (its process is there, or its end follows), `{"ended": {…}}`,
`{"forgot": "id"}`, and `{"replaced": true}` to a hub that another has taken the place of.
`{"do": "leave"}` lets it end as soon as nothing runs. These stay in every protocol: `{"hub": …}`,
its answer's `runner`, `leave`.

    __main__: the process
    start: starts a runner, or finds the one that runs
    service: the main loop, and connections of hubs
    child: one command from its order to its end
    processes: the processes of an operation, and signals to them
    records: the files of an operation: its output, whether it runs, how it ended
"""

from __future__ import annotations

PROTOCOL = 1
