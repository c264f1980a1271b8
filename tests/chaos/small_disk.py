"""A disk so small that it can be filled: a tmpfs of its own, for the hub's state alone."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

MEGABYTES = 64
NAME = "chatbridge-chaos"
_PAGE = 4096


class SmallDisk:
    """Mounting needs root, and a machine that allows it: `mounted` says whether it worked."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._ballast = folder / "ballast"
        _sweep()
        options = f"size={MEGABYTES}m,mode=0700"
        words = ["mount", "-t", "tmpfs", "-o", options, f"{NAME}-{os.getpid()}", str(folder)]
        try:
            done = subprocess.run(words, capture_output=True)
        except FileNotFoundError:
            self.mounted = False
        else:
            self.mounted = done.returncode == 0

    def fill(self) -> None:
        """To the last page, also if it is full but for what somebody has freed meanwhile."""
        with self._ballast.open("ab", buffering=0) as file:
            size = 1 << 20
            while size >= _PAGE:
                try:
                    file.write(bytes(size))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size //= 4

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self._folder)], check=True)
            self.mounted = False
            os.rmdir(self._folder)


def _sweep() -> None:
    """What a run that was killed has left mounted."""
    for line in Path("/proc/mounts").read_text().splitlines():
        source, folder, *_ = line.split()
        name, _, pid = source.rpartition("-")
        if name == NAME and not Path(f"/proc/{pid}").exists():
            subprocess.run(["umount", "--lazy", folder])
