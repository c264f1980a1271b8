"""A machine of its own with a real systemd: a container that shares this one's /usr, and no more.

It has users, no network but its loopback, and this checkout's chatbridge, installed for all of
them in /opt as a server would have it. Everything in it is gone afterwards.
"""

from __future__ import annotations

import os
import re
import select
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.program import ROOT

PATIENCE = 30.0
CHATBRIDGE = "/opt/chatbridge/bin/chatbridge"
PYTHON = "/opt/chatbridge/bin/python"
PAM = """\
account required pam_permit.so
session required pam_permit.so
session optional pam_systemd.so
"""
SCRIPT = f"""\
#!{PYTHON}
import sys
from chatbridge.__main__ import main
sys.exit(main())
"""


class Container:
    def __init__(self, leader: int) -> None:
        """`leader` is its first process, as this machine counts."""
        self._leader = leader

    def words(self, *words: str, user: str = "root") -> list[str]:
        """What runs these words in it, as that user after a log-in."""
        home = "/root" if user == "root" else f"/home/{user}"
        enter = ["nsenter", f"--target={self._leader}", "--mount", "--uts", "--ipc", "--net"]
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        clean = ["env", "-i", f"HOME={home}", f"USER={user}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        return [*enter, "--pid", "--wd=/", "--", *become, *clean, *words]

    def run(self, *words: str, user: str = "root", stdin: str = "") -> str:
        """What it printed. It has to succeed."""
        done = self.tried(*words, user=user, stdin=stdin)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def tried(
        self, *words: str, user: str = "root", stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*words, user=user),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def python(self, code: str, *arguments: str, user: str = "root") -> str:
        """What chatbridge's own Python prints for it."""
        return self.run(PYTHON, "-c", code, *arguments, user=user)

    def write(self, path: str, text: str, *, user: str = "root", mode: str = "600") -> None:
        folder = os.path.dirname(path)
        self.run(
            "sh",
            "-c",
            f"mkdir -p {folder} && cat > {path} && chmod {mode} {path}",
            user=user,
            stdin=text,
        )

    def log_in(self, user: str) -> None:
        """For good: their service manager runs from now on."""
        uid = self.run("id", "-u", user).strip()
        self.run("loginctl", "enable-linger", user)
        self.run("systemctl", "start", f"user@{uid}.service")

    def add_user(self, user: str, *groups: str) -> None:
        self.run("useradd", "--user-group", "--create-home", "--shell=/bin/sh", user)
        for group in groups:
            self.run("usermod", "--append", "--groups", group, user)


@contextmanager
def booted(command: str) -> Iterator[Container]:
    """`command` is systemd-nspawn's."""
    with (
        tempfile.TemporaryDirectory(prefix="cb-") as folder,
        open(f"{folder}/log", "w+b") as log,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as news,
    ):
        news.bind(f"{folder}/news")
        boot = ("--boot", "systemd.unit=basic.target", "systemd.firstboot=off")
        process = subprocess.Popen(
            [command, *_options(Path(folder)), *boot],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "NOTIFY_SOCKET": f"{folder}/news"},
        )
        try:
            container = Container(_leader(news))
            news.close()  # its news are passed on, and would wait here for a reader
            if _moved():  # its own library, before the distribution's
                container.run("sh", "-c", "echo /opt/python/lib > /etc/ld.so.conf && ldconfig")
            yield container
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-4000:])
            raise
        finally:
            process.terminate()  # an orderly shutdown, which it passes on
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _leader(news: socket.socket) -> int:
    """The first process, once it says that it is up."""
    until, said = time.monotonic() + PATIENCE, ""
    while "READY=1" not in said:
        ready, _, _ = select.select([news], [], [], max(0.0, until - time.monotonic()))
        assert ready, f"the container did not come up: {said}"
        said += news.recv(4096).decode() + "\n"
        assert "STOPPING=1" not in said, said
    found = re.search(r"X_NSPAWN_LEADER_PID=(\d+)", said)
    assert found, said
    return int(found[1])


def _options(folder: Path) -> list[str]:
    binds = {
        str(ROOT / "chatbridge"): "/opt/source/chatbridge",
        str(ROOT / "systemd"): "/opt/source/systemd",
        sysconfig.get_path("purelib"): "/opt/packages",
        str(folder / "installed"): "/opt/chatbridge",
        str(folder / "pam"): "/etc/pam.d",
    }
    if _moved():
        binds[sys.base_prefix] = "/opt/python"
    _install(folder / "installed")
    (folder / "pam").mkdir()
    (folder / "pam" / "systemd-user").write_text(PAM)
    return [
        "--quiet",
        "--directory=/",
        "--volatile=yes",
        "--register=no",
        "--keep-unit",
        "--private-network",
        "--console=pipe",
        "--notify-ready=yes",
        f"--machine=chatbridge-{os.getpid()}",
        *(f"--bind-ro={source}:{target}" for source, target in binds.items()),
    ]


def _install(folder: Path) -> None:
    """A virtual environment, made by hand: this one's Python and packages, at other paths."""
    real = Path(os.path.realpath(sys.executable))
    python = Path("/opt/python") / real.relative_to(sys.base_prefix) if _moved() else real
    packages = folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "tested.pth").write_text("/opt/source\n/opt/packages\n")
    # Without the latter every start would import what the other installation's packages ask for.
    (folder / "pyvenv.cfg").write_text(
        f"home = {python.parent}\ninclude-system-site-packages = false\n"
    )
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(python)
    (folder / "bin" / "chatbridge").write_text(SCRIPT)
    (folder / "bin" / "chatbridge").chmod(0o755)
    folder.parent.chmod(0o755)


def _moved() -> bool:
    """A Python outside /usr is not there yet; and one in a home cannot be seen by services."""
    return not sys.base_prefix.startswith("/usr")
