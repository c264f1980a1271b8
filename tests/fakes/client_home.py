"""A person's home folder with clients' configuration files in it, as they look in life."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chatbridge.cli.connect.catalogue import CATALOGUE
from chatbridge.cli.connect.machine import Program, user_folders
from chatbridge.cli.connect.plans import Plan, plan, write

FILES = Path(__file__).parent / "client_files"
START = Program("/opt/chatbridge/bin/chatbridge", ("mcp",))
WAIT = 8 * 3600.0


@dataclass
class Home:
    path: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.path), **self.variables}

    def file(self, client: str) -> Path:
        return CATALOGUE[client].file(user_folders(self.environ))

    def has(self, client: str, content: bytes) -> Path:
        """Put this into the client's file."""
        path = self.file(client)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def plan(
        self,
        client: str,
        *,
        wait: float = WAIT,
        start: Program = START,
        project: Path | None = None,
        leave_out: Collection[str] = (),
    ) -> Plan:
        return plan(
            client,
            project=project,
            wait=wait,
            start=start,
            environ=self.environ,
            leave_out=leave_out,
        )

    def connect(
        self,
        client: str,
        *,
        wait: float = WAIT,
        start: Program = START,
        project: Path | None = None,
        leave_out: Collection[str] = (),
    ) -> Plan:
        planned = self.plan(client, wait=wait, start=start, project=project, leave_out=leave_out)
        write(planned)
        return planned

    def disconnect(self, client: str, *, project: Path | None = None) -> Plan:
        planned = plan(client, project=project, environ=self.environ, removal=True)
        write(planned)
        return planned


def before(client: str) -> bytes:
    return next((FILES / client).glob("before.*")).read_bytes()


def after(client: str) -> bytes:
    return next((FILES / client).glob("after.*")).read_bytes()
