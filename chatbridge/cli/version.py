"""`chatbridge version`: the installed one, and the running hub's where that is another."""

from __future__ import annotations

import argparse

from chatbridge import __version__
from chatbridge.cli.ui.running import new_parser, run, say


def parser() -> argparse.ArgumentParser:
    return new_parser(
        "version", "Prints the installed version, and says if the running hub has another one."
    )


def main(argv: list[str]) -> int:
    parser().parse_args(argv)
    return run(_version)


def _version() -> int:
    from chatbridge import lock_file, runtime_paths
    from chatbridge.cli.hub.status import other_version

    print(f"chatbridge {__version__}", flush=True)
    hub = lock_file.find_holder(runtime_paths.state_dir())
    if hub is not None and hub.version != __version__:
        what, fix = other_version(hub.version, hub.started_by)
        say(f"{what}.", f"Run: {fix}")
    return 0
