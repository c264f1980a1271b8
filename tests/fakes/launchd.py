"""A stand-in for launchd and its launchctl, with macOS's exit codes and texts.

It reads a real property list, really starts what that names in the environment of a log-in at the
screen (a hub as in `warm_processes`, unless it is to be `cold`), starts it again as the list says,
and lets go of a label only a while after the process has ended. It is stricter than launchd, which
ignores keys that it does not know.
"""

from __future__ import annotations

import json
import os
import plistlib
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.fakes.warm_processes import WarmProcess

PATIENCE = 30.0
CLIENT = f"""#!{sys.executable} -S
import json, socket, sys
with socket.socket(socket.AF_UNIX) as sock:
    sock.connect(%r)
    sock.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    code, out, err = json.loads(sock.makefile().readline())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
EIO = "{}: 5: Input/output error\nTry re-running the command as root for richer errors.\n"
USAGE = (
    "Unrecognized target specifier.\nUsage: launchctl bootout <domain-target> | <service-target>\n"
)
KEYS: dict[str, type] = {
    "Label": str,
    "ProgramArguments": list,
    "EnvironmentVariables": dict,
    "RunAtLoad": bool,
    "KeepAlive": dict,
    "ThrottleInterval": int,
    "ExitTimeOut": int,
    "AbandonProcessGroup": bool,
    "ProcessType": str,
    "Umask": int,
    "SoftResourceLimits": dict,
    "HardResourceLimits": dict,
    "StandardOutPath": str,
    "StandardErrorPath": str,
    "WorkingDirectory": str,
}

HUB = ["hub", "--started-by", "service"]

Process = subprocess.Popen[bytes] | WarmProcess
Reply = tuple[int, str, str]


class Job:
    def __init__(self, path: str, agent: dict[str, Any]) -> None:
        self.path, self.agent = path, agent
        self.process: Process | None = None
        self.runs = 0
        self.last_exit: int | None = None
        self.leaves = False


class Launchd:
    """`session`: whether the user is logged in at the screen. `settles`: how long a label stays
    after its process, which is about five seconds on a Mac."""

    def __init__(self, home: Path, *, session: bool = True, settles: float = 0.3) -> None:
        self.home, self.session, self._settles = home, session, settles
        self.bin = home / "bin"
        self.cold = False
        """Whether what a list names is executed also where that is a hub."""
        self.throttle = 0.0
        """How long a job that fails waits for its next start. launchd starts one at once that ran
        for longer than its interval."""
        self.calls: list[list[str]] = []
        self.disabled: set[str] = set()
        self.jobs: dict[str, Job] = {}
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def domain(self) -> str:
        return f"gui/{os.getuid()}"

    # ── launchctl ─────────────────────────────────────────────────────────────────────────────────

    def answer(self, words: list[str]) -> Reply:
        with self._lock:
            self.calls.append(words)
            match words:
                case ["bootstrap", domain, path]:
                    return self._bootstrap(domain, path)
                case ["print-disabled", domain] if domain == self.domain:
                    lines = "".join(f'\t\t"{label}" => disabled\n' for label in self.disabled)
                    return 0, f"\tdisabled services = {{\n{lines}\t}}\n", ""
                case ["print", domain] if domain == self.domain:
                    if self.session:
                        return 0, f"{domain} = {{\n\ttype = login\n}}\n", ""
                    return 112, "", f"Could not find domain for user gui: {os.getuid()}\n"
                case [verb, *options, target] if target.startswith(f"{self.domain}/"):
                    return self._of_service(verb, options, target.removeprefix(f"{self.domain}/"))
            return 64, "", USAGE

    def _bootstrap(self, domain: str, path: str) -> Reply:
        failed = (5, "", EIO.format("Bootstrap failed"))
        if domain != self.domain:
            return 64, "", USAGE
        if not self.session:
            return 125, "", "Bootstrap failed: 125: Domain does not support specified action\n"
        try:
            about = os.stat(path)
            agent = plistlib.loads(Path(path).read_bytes())
        except (OSError, ValueError):
            return failed
        sound = isinstance(agent, dict) and all(
            key in KEYS and type(value) is KEYS[key] for key, value in agent.items()
        )
        if not sound or not agent.get("ProgramArguments") or "Label" not in agent:
            return failed
        if about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o022:
            return failed
        label = agent["Label"]
        if label in self.jobs or label in self.disabled:
            return failed
        job = self.jobs[label] = Job(path, agent)
        if agent.get("RunAtLoad"):
            self._spawn(job)
        return 0, "", ""

    def _of_service(self, verb: str, options: list[str], label: str) -> Reply:
        if verb in ("enable", "disable") and not options:
            (self.disabled.discard if verb == "enable" else self.disabled.add)(label)
            return 0, "", ""
        job = self.jobs.get(label)
        missing = f'Could not find service "{label}" in domain for user gui: {os.getuid()}\n'
        match verb, options:
            case "bootout", []:
                if job is None:
                    return 3, "", "Boot-out failed: 3: No such process\n"
                if job.leaves:
                    return 36, "", "Boot-out failed: 36: Operation now in progress\n"
                self._bootout(label, job)
                return 0, "", ""
            case "print", []:
                return (
                    (0, _printed(label, job), "") if job else (113, "", f"Bad request.\n{missing}")
                )
            case "kill", ["SIGTERM"] if job and job.process:
                job.process.terminate()
                return 0, "", ""
            case "kickstart", [] | ["-k"]:
                if job is None:
                    return 113, "", missing
                if options and job.process:
                    job.process.kill()
                    job.process.wait()
                if job.process is None or job.process.poll() is not None:
                    self._spawn(job)
                return 0, "", ""
        return (113, "", missing) if job is None else (64, "", USAGE)

    # ── its processes ─────────────────────────────────────────────────────────────────────────────

    def _spawn(self, job: Job) -> None:
        agent = job.agent
        environment = {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "USER": "ana",
            "LOGNAME": "ana",
            "SHELL": "/bin/zsh",
            "TMPDIR": "/tmp/",
            "XPC_SERVICE_NAME": agent["Label"],
            **agent.get("EnvironmentVariables", {}),
        }
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        out = os.open(agent.get("StandardOutPath", os.devnull), flags, 0o644)
        err = os.open(agent.get("StandardErrorPath", os.devnull), flags, 0o644)
        words, cwd = agent["ProgramArguments"], agent.get("WorkingDirectory", "/")
        umask = agent.get("Umask", 0o022)
        if words[-3:] == HUB and not self.cold:
            job.process = WarmProcess(HUB, out=out, err=err, cwd=cwd, env=environment, umask=umask)
        else:
            job.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env=environment,
                umask=umask,
                start_new_session=True,
            )
        for descriptor in (out, err):
            os.close(descriptor)
        job.runs += 1
        self._watch(job, job.process)

    def _watch(self, job: Job, process: Process) -> None:
        def wait() -> None:
            code = process.wait()
            with self._lock:
                if job.process is not process:
                    return  # `kickstart -k` has started another
                job.process, job.last_exit = None, code
            fails = job.agent.get("KeepAlive", {}).get("SuccessfulExit") is False and code != 0
            if fails and not self._closed.wait(self.throttle):
                with self._lock:
                    if not job.leaves and job.process is None:
                        self._spawn(job)

        self._begin(wait)

    def _bootout(self, label: str, job: Job) -> None:
        job.leaves = True
        process = job.process
        if process:
            process.terminate()

        def leave() -> None:
            if process:
                try:
                    process.wait(job.agent.get("ExitTimeOut", 5))
                except subprocess.TimeoutExpired:
                    process.kill()
            self._closed.wait(self._settles)
            with self._lock:
                self.jobs.pop(label, None)

        self._begin(leave)

    def _begin(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    @contextmanager
    def running(self) -> Iterator[Launchd]:
        self.bin.mkdir()
        path = str(self.home / "launchd.sock")
        client = self.bin / "launchctl"
        client.write_text(CLIENT % path)
        client.chmod(0o755)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            self._begin(lambda: self._serve(listener))
            try:
                yield self
            finally:
                self._closed.set()
                with self._lock:
                    for job in self.jobs.values():
                        job.leaves = True
                        if job.process:
                            with suppress(ProcessLookupError):
                                os.killpg(job.process.pid, signal.SIGKILL)
                with suppress(OSError), socket.socket(socket.AF_UNIX) as last:
                    last.connect(path)  # which wakes the one who accepts
                for thread in self._threads:
                    thread.join(PATIENCE)

    def _serve(self, listener: socket.socket) -> None:
        while not self._closed.is_set():
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as lines:
                if line := lines.readline():
                    lines.write(json.dumps(self.answer(json.loads(line))) + "\n")
                    lines.flush()


def _printed(label: str, job: Job) -> str:
    """As on macOS 15, shortened."""
    pid = f"\tpid = {job.process.pid}\n" if job.process else ""
    last = "(never exited)" if job.last_exit is None else str(abs(job.last_exit))
    state = "running" if job.process else "not running"
    return (
        f"gui/{os.getuid()}/{label} = {{\n\tactive count = {int(bool(pid))}\n\tpath = {job.path}\n"
        f"\ttype = LaunchAgent\n\tstate = {state}\n\n"
        "\targuments = {\n"
        + "".join(f"\t\t{it}\n" for it in job.agent["ProgramArguments"])
        + "\t}\n"
        "\n\tdefault environment = {\n\t\tPATH => /usr/bin:/bin:/usr/sbin:/sbin\n\t}\n"
        f"\n\tdomain = gui/{os.getuid()} [100006]\n\tasid = 100006\n\tminimum runtime = 10\n"
        f"\texit timeout = {job.agent.get('ExitTimeOut', 5)}\n\truns = {job.runs}\n{pid}"
        f"\timmediate reason = speculative\n\tforks = 0\n\texecs = 1\n\tlast exit code = {last}\n"
        "\n\tresource coalition = {\n\t\tID = 1108\n\t\tstate = active\n\t\tactive count = 1\n\t}\n"
        "\tproperties = keepalive | runatload | inferred program\n}\n"
    )
