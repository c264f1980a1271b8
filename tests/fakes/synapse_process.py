"""Run by Synapse's own Python (see `synapse`): the homeserver, until standard input ends, which it
does with the tests, however these end, or until the process ends that the environment names.

A lean one leaves out half of its work, which nobody sees from outside: to hand each query and each
reply to another thread, to count and measure what it does, to check a schema whenever it is used,
to lock rooms that nobody purges, and to look for what nobody has: delayed events, policy servers.
"""

# mypy: ignore-errors

import contextlib
import functools
import inspect
import logging
import os
import select
import sys
import threading


def make_lean():
    import jsonschema
    import prometheus_client
    from prometheus_client.metrics import MetricWrapperBase
    from twisted.internet import defer, threads

    def validate(instance, schema, cls=jsonschema.Draft202012Validator, **words):
        for error in cls(schema, **words).iter_errors(instance):
            raise error

    in_a_thread = threads.deferToThreadPool

    def in_this_thread(reactor, pool, *call, **words):
        if pool.name == "media_threadpool":  # it is written to while it reads
            return in_a_thread(reactor, pool, *call, **words)
        return defer.execute(*call, **words)

    def nothing(*_, **__):
        pass

    async def nobody(*_):
        pass

    jsonschema.validate = validate
    threads.deferToThreadPool = in_this_thread
    inspect.getfullargspec = functools.cache(inspect.getfullargspec)
    logging.Logger.debug = nothing  # the level is above it
    MetricWrapperBase.labels = functools.cache(MetricWrapperBase.labels)
    prometheus_client.Counter.inc = nothing
    prometheus_client.Histogram.observe = nothing

    from synapse.handlers.delayed_events import DelayedEventsHandler
    from synapse.handlers.room_policy import RoomPolicyHandler
    from synapse.handlers.worker_lock import WorkerLocksHandler
    from synapse.logging import context
    from synapse.storage import database
    from synapse.util.metrics import Measure

    DelayedEventsHandler.notify_new_event = nothing
    RoomPolicyHandler._get_policy_server = nobody
    WorkerLocksHandler.acquire_read_write_lock = lambda *_, **__: contextlib.nullcontext()
    context.random_string_insecure_fast = str  # names of log lines
    Measure.__init__ = Measure.__enter__ = Measure.__exit__ = nothing
    database.LoggingTransaction._do_execute = lambda _, call, *query: call(*query)
    database.DatabasePool.runInteraction = run_interaction


async def run_interaction(
    pool, desc, func, *args, db_autocommit=False, isolation_level=None, **words
):
    """As Synapse's own, without a thread, and so without all that it takes to wait for one."""
    from synapse.storage.database import LoggingDatabaseConnection

    after, after_await, failed = [], [], []
    connection = LoggingDatabaseConnection(
        conn=pool._db_pool.connect(),
        engine=pool.engine,
        default_txn_name=desc,
        server_name=pool.server_name,
    )
    try:
        try:
            result = pool.new_transaction(
                connection, desc, after, after_await, failed, func, *args, **words
            )
        except BaseException:
            connection.rollback()
            raise
        for call, given, named in after_await:
            await call(*given, **named)
        for call, given, named in after:
            call(*given, **named)
    except Exception:
        for call, given, named in failed:
            call(*given, **named)
        raise
    return result


def end_with_the_tests():
    if pid := os.environ.get("SYNAPSE_UNTIL"):
        select.select([os.pidfd_open(int(pid))], [], [])
    else:
        sys.stdin.read()
    os._exit(1)


threading.Thread(target=end_with_the_tests, daemon=True).start()
if "LEAN_SYNAPSE" in os.environ:
    make_lean()

from synapse.app.homeserver import main  # noqa: E402

main()
