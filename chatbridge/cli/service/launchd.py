"""The hub as an agent of launchd, which macOS has instead of systemd, through launchctl.

launchd passes no socket and is told nothing by the hub: that it is ready is seen by asking it, and
why it is not by reading its log.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from typing import TYPE_CHECKING, NamedTuple

from chatbridge import lock_file, runtime_paths
from chatbridge.cli.hub.hub_client import connected
from chatbridge.cli.service import manager
from chatbridge.cli.service.manager import WITHOUT, State, folders, user
from chatbridge.cli.ui.wording import display_path
from chatbridge.core.errors import ChatbridgeError, ServiceFailed
from chatbridge.link.hub_start import MACOS_PATH, last_log_line, open_log

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

LABEL = "chatbridge.hub"
THROTTLE_SECONDS = 10
"""At least this long from one start to the next by itself."""
EXIT_SECONDS = 15
READY_SECONDS = 60.0
SETTLE_SECONDS = 15.0
"""How long launchd may keep a label that was booted out: about five seconds were seen."""
LOOK_EVERY_SECONDS = 0.1
GONE = frozenset({3, 112, 113, 125})
"""What launchctl ends with when there is no such service, or nobody is logged in."""
ALREADY = 37
BUSY = frozenset({5, 36, ALREADY})
"""… when it is not yet done with an earlier one. 5 may be anything else, too."""
SWITCHED_OFF = (
    "If chatbridge is switched off in System Settings, General, Login Items & Extensions, switch "
    "it on"
)


class Job(NamedTuple):
    """What launchd knows of the service while it is loaded."""

    pid: int | None
    word: str
    runs: int
    """How often it has started."""
    failed: bool


class Launchd:
    title = "launchd agent"
    lingering = None

    def available(self) -> str | None:
        if shutil.which("launchctl") is None:
            return f"There is no launchd on this computer. {WITHOUT}"
        if _launchctl("print", _domain()).returncode != 0:
            return (
                f"{user()} is not logged in at the screen of this Mac, and launchd runs agents "
                f"only there. {WITHOUT}"
            )
        return None

    def state(self) -> State:
        path, job = _path(), _job()
        installed = os.path.exists(path)
        enabled = installed and not _is_disabled()
        if job is None:
            return State(installed=installed, enabled=enabled, word="stopped", file=path)
        return State(
            installed=installed,
            running=job.pid is not None,
            enabled=enabled,
            word=job.word,
            pid=job.pid,
            why=last_log_line(_log()) if job.failed and job.pid is None else "",
            file=path,
        )

    def files(self) -> dict[str, str]:
        import plistlib

        return {_path(): plistlib.dumps(_agent(), sort_keys=False).decode()}

    def telling(self, content: str) -> list[str]:
        return [
            f"runs {shlex.join(manager.command())}",
            *(f"with {name}={path}" for name, path in folders().items()),
            f"and writes to {display_path(_log())}",
        ]

    def install(self, *, changed: bool) -> None:
        if changed and _job() is not None:
            self.stop()
        self.start()

    def uninstall(self) -> list[str]:
        if shutil.which("launchctl") is not None:
            self.stop()
        found = [path for path in (_path(),) if os.path.lexists(path)]
        for path in found:
            os.unlink(path)
        return found

    def start(self) -> None:
        _check_program()
        job = _job()
        if job is None or job.pid is None:
            _prepare_log()
            _do("enable", _target())
            _do("kickstart", _target()) if job else _bootstrap()
        _wait_until_ready(after=job.runs if job else 0)

    def restart(self) -> None:
        job = _job()
        if job is None:
            self.start()
            return
        _check_program()
        _prepare_log()
        if job.pid is not None:
            # Before `kickstart -k`, which kills at once.
            _launchctl("kill", "SIGTERM", _target())
            _wait(lambda: (now := _job()) is None or now.pid != job.pid, EXIT_SECONDS)
        _do("kickstart", "-k", _target())
        _wait_until_ready(after=job.runs)

    def stop(self) -> None:
        done = _launchctl("bootout", _target())
        if done.returncode not in {0, 36, *GONE}:
            raise _failed("bootout", done)
        # launchd answers before the hub has ended.
        if not _wait(lambda: _job() is None, EXIT_SECONDS + SETTLE_SECONDS):
            raise ServiceFailed(f"launchd has not stopped the hub. Look at: {_print_command()}")

    def log_command(self, options: Sequence[str]) -> list[str]:
        if not os.path.exists(_log()):
            raise ServiceFailed(f"there is no log yet. The hub writes it to {_log()}")
        return ["tail", *(options or ("-n", "100")), _log()]


def _agent() -> dict[str, object]:
    """The property list. Its values do not depend on the terminal that writes them, apart from the
    folders: doctor compares them later."""
    no_core = {"Core": 0}  # a picture of the memory would have the tokens in it
    return {
        "Label": LABEL,
        "ProgramArguments": manager.command(),
        # A log-in at the screen has no LANG, and a PATH without /usr/local/bin.
        "EnvironmentVariables": {"PATH": MACOS_PATH, "LANG": "en_US.UTF-8", **folders()},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": THROTTLE_SECONDS,
        "ExitTimeOut": EXIT_SECONDS,
        # Agents' commands go on while the hub restarts.
        "AbandonProcessGroup": True,
        # Without it the commands of agents would get less of the processor than in a terminal.
        "ProcessType": "Interactive",
        "Umask": 0o077,
        "SoftResourceLimits": no_core,
        "HardResourceLimits": no_core,
        "StandardOutPath": _log(),
        "StandardErrorPath": _log(),
    }


def _path() -> str:
    return os.path.join(os.path.expanduser("~"), "Library/LaunchAgents", f"{LABEL}.plist")


def _check_program() -> None:
    """:raises ServiceFailed:"""
    import plistlib
    from xml.parsers.expat import ExpatError

    try:
        with open(_path(), "rb") as file:
            program = plistlib.load(file)["ProgramArguments"][0]
    except (OSError, ValueError, LookupError, TypeError, ExpatError):
        return  # launchd says what is wrong with it
    manager.check_program(str(program))


def _log() -> str:
    return runtime_paths.log_path(runtime_paths.state_dir())


def _prepare_log() -> None:
    """launchd would make it readable for everybody, and starts nothing where it cannot write.
    :raises SettingsError:"""
    runtime_paths.make_private(runtime_paths.state_dir())
    os.close(open_log(_log()))


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _target() -> str:
    return f"{_domain()}/{LABEL}"


def _print_command() -> str:
    return f"launchctl print {_target()}"


def _job() -> Job | None:
    done = _launchctl("print", _target())
    return parse_job(done.stdout) if done.returncode == 0 else None


def parse_job(said: str) -> Job:
    """From what `launchctl print` says of a service. Apple does not promise its form: what is not
    found is unknown."""
    known: dict[str, str] = {}
    depth = 0
    for line in said.splitlines():
        key, _, value = line.strip().partition(" = ")
        depth += line.endswith(("= {", "=> {")) - (key == "}")
        if depth == 1:  # blocks inside have keys of the same names
            known[key] = value
    pid, runs, code = (
        int(number[0]) if (number := re.match(r"\d{1,9}\b", known.get(key, ""))) else None
        for key in ("pid", "runs", "last exit code")
    )
    return Job(pid=pid, word=known.get("state", "unknown"), runs=runs or 0, failed=bool(code))


def _is_disabled() -> bool:
    said = _launchctl("print-disabled", _domain()).stdout
    return re.search(rf'"{re.escape(LABEL)}" => (disabled|true)\b', said) is not None


def _bootstrap() -> None:
    """:raises ServiceFailed:"""
    until = time.monotonic() + SETTLE_SECONDS
    while (done := _launchctl("bootstrap", _domain(), _path())).returncode != 0:
        if done.returncode not in BUSY or time.monotonic() > until:
            raise _failed("bootstrap", done)
        if _job() is not None:
            return  # somebody else has loaded it meanwhile
        time.sleep(LOOK_EVERY_SECONDS)


def _wait_until_ready(*, after: int) -> None:
    """`after`: how often it had started before. :raises ServiceFailed:"""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        job = _job()
        if job is not None and job.pid is not None:
            if _answers(job.pid):
                return
        elif job is None or job.runs > after:
            why = last_log_line(_log()).rstrip(".") or "it wrote nothing into its log"
            raise ServiceFailed(
                f"the hub does not start: {why}. There may be more in: chatbridge service logs"
            )
        time.sleep(LOOK_EVERY_SECONDS)
    raise ServiceFailed(
        f"the hub was not ready within {READY_SECONDS:.0f} s. Look at: chatbridge service logs, "
        f"and: {_print_command()}"
    )


def _answers(pid: int) -> bool:
    holder = lock_file.find_holder(runtime_paths.state_dir())
    if holder is None or holder.pid != pid:
        return False
    try:
        with connected():
            return True
    except ChatbridgeError:
        return False


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (found := done()) and time.monotonic() < until:
        time.sleep(LOOK_EVERY_SECONDS)
    return found


def _do(*words: str) -> None:
    """:raises ServiceFailed:"""
    done = _launchctl(*words)
    if done.returncode not in (0, ALREADY):
        raise _failed(words[0], done)


def _failed(what: str, done: subprocess.CompletedProcess[str]) -> ServiceFailed:
    said = done.stderr.strip().partition("\n")[0].rstrip(".") or f"exit code {done.returncode}"
    return ServiceFailed(f"launchctl {what} did not work: {said}. {SWITCHED_OFF}")


def _launchctl(*words: str) -> subprocess.CompletedProcess[str]:
    return manager.run(("launchctl", *words))
