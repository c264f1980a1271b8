"""Run by Synapse's own Python (see `synapse`): the homeserver, until standard input ends, which it
does with the tests, however these end.

A lean one leaves out a third of its work that nobody sees from outside: to hand each query and each
reply to another thread, to look for each counter anew, to check a schema whenever it is used, and
to look for delayed events, which nobody sends.
"""

# mypy: ignore-errors

import functools
import os
import sys
import threading


def make_lean():
    import jsonschema
    from prometheus_client.metrics import MetricWrapperBase
    from twisted.internet import defer, threads

    def validate(instance, schema, cls=jsonschema.Draft202012Validator, **words):
        for error in cls(schema, **words).iter_errors(instance):
            raise error

    def in_this_thread(_reactor, _pool, *call, **words):
        return defer.execute(*call, **words)

    jsonschema.validate = validate
    threads.deferToThreadPool = in_this_thread
    MetricWrapperBase.labels = functools.cache(MetricWrapperBase.labels)

    from synapse.handlers.delayed_events import DelayedEventsHandler

    DelayedEventsHandler.notify_new_event = lambda _: None


threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
if "LEAN_SYNAPSE" in os.environ:
    make_lean()

from synapse.app.homeserver import main  # noqa: E402

main()
