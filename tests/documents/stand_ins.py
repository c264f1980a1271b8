"""Programs of others that the documentation calls: what arguments they take, and scripts with their
names that note how they were called.

Each grammar has what the pages use, as the program's own manual has it. A page that uses more needs
more of it here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

NOTES = """\
#!/bin/sh
# Notes its name and its arguments, one a line, and an empty line.
{{ basename "$0"; for word; do printf '%s\\n' "$word"; done; echo; }} >> "{calls}"
"""
AS_ROOT = """\
#!/bin/sh
# Without becoming anybody else: assignments first, then a command.
exec env "$@"
"""


class Refused(Exception):
    """The real program would not take these arguments."""


class Grammar(argparse.ArgumentParser):
    def __init__(self, prog: str, **_of_a_verb: object) -> None:
        super().__init__(prog, add_help=False, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise Refused(f"{self.prog}: {message}")


def _claude() -> Grammar:
    found = Grammar("claude")
    found.add_argument("-p", "--print", action="store_true")
    found.add_argument("--permission-prompt-tool")
    found.add_argument("prompt", nargs="?")
    return found


def _claude_plugin() -> Grammar:
    found = Grammar("claude plugin")
    verbs = found.add_subparsers(required=True)
    add = verbs.add_parser("marketplace").add_subparsers(required=True).add_parser("add")
    add.add_argument("source")
    for verb in ("install", "uninstall"):
        verbs.add_parser(verb).add_argument("plugin")
    return found


def _codex() -> Grammar:
    found = Grammar("codex")
    found.add_subparsers(required=True).add_parser("exec").add_argument("prompt")
    return found


def _docker() -> Grammar:
    """What docker and podman have in common, and podman's `--format docker` and secrets."""
    found = Grammar("docker")
    verbs = found.add_subparsers(required=True)
    build = verbs.add_parser("build")
    for option in ("--build-arg", "--file", "--format", "--tag"):
        build.add_argument(option)
    build.add_argument("context")
    create = verbs.add_parser("secret").add_subparsers(required=True).add_parser("create")
    create.add_argument("name")
    create.add_argument("file")
    run, execute = verbs.add_parser("run"), verbs.add_parser("exec")
    for flag in ("--detach", "--init", "--read-only", "--rm"):
        run.add_argument(flag, action="store_true")
    once = ("--cap-drop", "--entrypoint", "--name", "--restart", "--secret", "--tmpfs")
    for option in (*once, "--env", "--publish", "--volume"):
        run.add_argument(option, action="store" if option in once else "append")
    for verb, what in ((run, "image"), (execute, "container")):
        verb.add_argument("-i", "--interactive", action="store_true")
        verb.add_argument("-t", "--tty", action="store_true")
        verb.add_argument(what)
        verb.add_argument("command", nargs=argparse.REMAINDER)
    for name in ("start", "stop", "restart"):
        verbs.add_parser(name).add_argument("container")
    remove = verbs.add_parser("rm")
    remove.add_argument("--force", action="store_true")
    remove.add_argument("container")
    compose = verbs.add_parser("compose")
    compose.add_argument("--file", action="append")
    up = compose.add_subparsers(required=True).add_parser("up")
    up.add_argument("--detach", action="store_true")
    return found


def _git() -> Grammar:
    found = Grammar("git")
    verbs = found.add_subparsers(required=True)
    clone = verbs.add_parser("clone")
    clone.add_argument("repository")
    clone.add_argument("folder", nargs="?")
    verbs.add_parser("pull")
    return found


def _journalctl() -> Grammar:
    found = Grammar("journalctl")
    found.add_argument("-u", "--unit", action="append")
    found.add_argument("--user", action="store_true")
    found.add_argument("-f", "--follow", action="store_true")
    found.add_argument("-n", "--lines", type=int)
    return found


def _npm() -> Grammar:
    found = Grammar("npm")
    found.add_subparsers(required=True).add_parser("run").add_argument("script")
    return found


def _pip() -> Grammar:
    found = Grammar("pip")
    verbs = found.add_subparsers(required=True)
    install = verbs.add_parser("install")
    install.add_argument("--upgrade", "-U", action="store_true")
    install.add_argument("requirement", nargs="+")
    uninstall = verbs.add_parser("uninstall")
    uninstall.add_argument("--yes", "-y", action="store_true")
    uninstall.add_argument("package", nargs="+")
    return found


def _pipx() -> Grammar:
    found = Grammar("pipx")
    verbs = found.add_subparsers(required=True)
    install = verbs.add_parser("install")
    install.add_argument("--force", "-f", action="store_true")
    install.add_argument("--python")
    install.add_argument("package_spec")
    for verb in ("upgrade", "uninstall"):
        verbs.add_parser(verb).add_argument("package")
    verbs.add_parser("ensurepath")
    inject = verbs.add_parser("inject")
    inject.add_argument("package")
    inject.add_argument("dependencies", nargs="+")
    return found


def _pytest() -> Grammar:
    found = Grammar("pytest")
    found.add_argument("--hypothesis-profile", choices=["explore", "repeatable"])
    found.add_argument("-k")
    found.add_argument("files", nargs="*")
    return found


def _python() -> Grammar:
    found = Grammar("python")
    found.add_argument("-m", required=True, type=_module)
    return found


def _sqlite3() -> Grammar:
    found = Grammar("sqlite3")
    found.add_argument("file")
    found.add_argument("sql", nargs="*")
    return found


def _ssh() -> Grammar:
    found = Grammar("ssh")
    for forward in ("-L", "-R"):
        found.add_argument(forward, type=_forward)
    found.add_argument("-t", "-N", "-T", action="store_true")
    found.add_argument("destination")
    found.add_argument("command", nargs=argparse.REMAINDER)
    return found


def _caffeinate() -> Grammar:
    found = Grammar("caffeinate")
    for kind in ("-d", "-i", "-m", "-s", "-u"):
        found.add_argument(kind, action="store_true")
    found.add_argument("-t", type=int)
    return found


def _systemctl() -> Grammar:
    found = Grammar("systemctl")
    found.add_argument("--user", action="store_true")
    found.add_argument("--now", action="store_true")
    verbs = ("daemon-reload", "disable", "edit", "enable", "restart", "start", "status", "stop")
    found.add_argument("verb", choices=verbs)
    found.add_argument("units", nargs="*")
    return found


def _systemd_analyze() -> Grammar:
    found = Grammar("systemd-analyze")
    found.add_argument("verb", choices=["security", "verify"])
    found.add_argument("units", nargs="*")
    return found


def _tailscale() -> Grammar:
    found = Grammar("tailscale")
    verbs = found.add_subparsers(required=True)
    verbs.add_parser("up")
    verbs.add_parser("set").add_argument("--operator", required=True)
    for verb in ("serve", "funnel"):
        serve = verbs.add_parser(verb)
        serve.add_argument("--bg", action="store_true")
        serve.add_argument("--https", type=int)
        serve.add_argument("target")  # off: no more
    return found


def _timedatectl() -> Grammar:
    found = Grammar("timedatectl")
    found.add_argument("verb", choices=["set-ntp", "status"])
    found.add_argument("value", nargs="?", choices=["true", "false", "1", "0"])
    return found


def _uv() -> Grammar:
    found = Grammar("uv")
    kinds = found.add_subparsers(required=True)
    tool = kinds.add_parser("tool").add_subparsers(required=True)
    install = tool.add_parser("install")
    install.add_argument("--compile-bytecode", action="store_true")
    install.add_argument("--python", "-p")
    install.add_argument("--with", dest="others", action="append")
    install.add_argument("--force", action="store_true")
    install.add_argument("package")
    for verb in ("upgrade", "uninstall"):
        tool.add_parser(verb).add_argument("name", nargs="+")
    return found


def _uvx() -> Grammar:
    found = Grammar("uvx")
    found.add_argument("--from", dest="package")
    found.add_argument("command", nargs=argparse.REMAINDER)
    return found


def _module(name: str) -> str:
    if find_spec(name) is None:
        raise argparse.ArgumentTypeError(f"there is no module {name}")
    return name


def _forward(text: str) -> str:
    port, host, to = text.rsplit(":", 2)
    if not (port.split(":")[-1].isdigit() and host and to.isdigit()):
        raise argparse.ArgumentTypeError(f"{text} is no forwarding")
    return text


GRAMMARS: dict[str, Callable[[], Grammar]] = {
    "caffeinate": _caffeinate,
    "claude": _claude,
    "codex": _codex,
    "docker": _docker,
    "git": _git,
    "journalctl": _journalctl,
    "npm": _npm,
    "pip": _pip,
    "pipx": _pipx,
    "podman": _docker,
    "pytest": _pytest,
    "python": _python,
    "sqlite3": _sqlite3,
    "ssh": _ssh,
    "systemctl": _systemctl,
    "systemd-analyze": _systemd_analyze,
    "tailscale": _tailscale,
    "timedatectl": _timedatectl,
    "uv": _uv,
    "uvx": _uvx,
}
APART: dict[tuple[str, ...], Callable[[], Grammar]] = {("claude", "plugin"): _claude_plugin}
"""Commands of a program that also takes anything else as its first word."""
NOT_STOOD_IN = ("git", "python", "pytest", "sqlite3")
"""Others need these to be what they are; their calls are only read."""


def accepts(program: str, arguments: list[str]) -> None:
    """:raises Refused: the program does not take these, or nothing is known of it."""
    name = Path(program).name
    grammar = GRAMMARS.get("python" if name == "python3" else name)
    if grammar is None:
        raise Refused(f"{name}: no grammar. Add one to tests/documents/stand_ins.py")
    if apart := APART.get((name, *arguments[:1])):
        grammar, arguments = apart, arguments[1:]
    grammar().parse_args(arguments)


def put(folder: Path, calls: Path) -> None:
    """Scripts with these names into a folder that comes first on PATH."""
    folder.mkdir()
    scripts = {name: NOTES.format(calls=calls) for name in GRAMMARS if name not in NOT_STOOD_IN}
    for name, text in {**scripts, "sudo": AS_ROOT}.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)


def noted(calls: Path) -> list[list[str]]:
    """Each call since the file was last read: its name and its arguments."""
    if not calls.exists():
        return []
    text = calls.read_text(encoding="utf-8")
    calls.unlink()
    return [call.split("\n") for call in text.split("\n\n") if call]
