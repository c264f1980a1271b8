"""The commands of docs/systemd.md for one user, run as they stand there under a real systemd."""

from __future__ import annotations

import pytest

from tests.documents.pages import commands
from tests.documents.ways import NO_COMMANDS, How, way_of
from tests.fakes.container import CHATBRIDGE, Container

pytestmark = pytest.mark.nspawn

USER = "dora"
ORDER = {
    "sudo loginctl enable-linger NAME": "",
    "chatbridge service install": "✓ ",
    "chatbridge service status": "✓ service    running, enabled",
    "chatbridge service logs": "ready",
    "chatbridge service logs -f": "chatbridge.service",
    "chatbridge service stop": "",
    "chatbridge service restart": "✓ the hub runs again",
    "chatbridge service start": "✓ the hub runs",
    "chatbridge service uninstall": "",
}
"""As a person could run them, and a part of what each prints. Each start takes seconds, so it is
restarted when it is stopped."""
UNTIL_A_LINE = 'exec 3< <(exec {command}); read -r line <&3; kill $!; echo "$line"'


@pytest.mark.early
def test_every_command_about_the_service_does_what_the_page_says(container: Container) -> None:
    named = {
        command
        for command in commands(NO_COMMANDS)
        if (way := way_of(command)) and way.how is How.CONTAINER
    }
    assert named <= set(ORDER)
    container.add_user(USER)
    container.log_in(USER)
    for command in filter(named.__contains__, ORDER):
        shown = carry_out(container, command)
        assert ORDER[command] in shown, (command, shown)


def carry_out(container: Container, command: str) -> str:
    if command.startswith("sudo "):
        return container.run(*command.removeprefix("sudo ").replace("NAME", USER).split())
    words = command.replace("chatbridge", CHATBRIDGE, 1)
    if command.endswith(" -f"):  # it would go on for ever
        words = UNTIL_A_LINE.format(command=words)
    return container.run("bash", "-c", words, user=USER)
