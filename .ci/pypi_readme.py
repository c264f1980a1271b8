"""README.md as PyPI shows it, where a path leads nowhere: links and pictures get the address that
they have in the repository, at the tag of this version. A hook of hatchling: pyproject.toml.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

TARGET = re.compile(r"(\]\(|\b(?:src|srcset|href)=\")(?![a-z]+:|#|/)([^)\"\s]+)")
"""What a link or a picture leads to, if it is a path."""
PICTURE = re.compile(r"\.(gif|jpg|png|svg|webp)$")


class ReadmeHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        source, root = metadata["urls"]["Source"], Path(self.root)
        told = (root / "chatbridge/__init__.py").read_text(encoding="utf-8")
        version = re.search(r'^__version__ = "(.+)"$', told, re.MULTILINE)
        assert version, "chatbridge/__init__.py has no version"

        def absolute(found: re.Match[str]) -> str:
            kind = "raw" if PICTURE.search(found[2]) else "blob"
            return f"{found[1]}{source}/{kind}/v{version[1]}/{found[2]}"

        text = TARGET.sub(absolute, (root / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
