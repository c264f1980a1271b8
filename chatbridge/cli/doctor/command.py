"""`chatbridge doctor`: the command. Its checks are imported once it is to look."""

from __future__ import annotations

import argparse
import os
import threading

from chatbridge.cli.ui import running

THREADS_END_WITHIN = 0.3


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    code = running.run(lambda: _doctor(as_json=options.json))
    if _busy_threads():
        # A resolver that waits for a dead network cannot be stopped, and holds the process.
        os._exit(code)
    return code


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="chatbridge doctor",
        description="Look at everything that chatbridge needs, and say what to do about what is "
        "not as it should be. Nothing is changed, and no hub is started. Exit code 1 if there is "
        "a problem.",
    )
    made.add_argument("--json", action="store_true", help="all details, for programs")
    return made


def _doctor(*, as_json: bool) -> int:
    import logging

    from chatbridge.cli.doctor.context import DoctorContext
    from chatbridge.cli.doctor.run import run

    # What libraries say of a connection that fails is said by the checks.
    logging.basicConfig(handlers=[logging.NullHandler()])
    return run(DoctorContext.here(), as_json=as_json)


def _busy_threads() -> bool:
    others = [it for it in threading.enumerate() if it is not threading.main_thread()]
    for thread in others:
        thread.join(THREADS_END_WITHIN)
    return any(thread.is_alive() and not thread.daemon for thread in others)
