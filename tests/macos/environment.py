"""A Python environment whose processes are masked. `python -m tests.macos.environment FOLDER`

It has the packages of the environment that makes it, and nothing of its own but the mask: that
reaches every process that is started with `sys.executable`, also hubs, which links start without
most variables.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

MASK = Path(__file__).parent / "mask.py"
COMMAND = """#!{python}
import sys
from chatbridge.__main__ import main
sys.exit(main())
"""


def make(folder: Path) -> Path:
    """The path of its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    scripts, packages = folder / "bin", folder / "lib" / python / "site-packages"
    scripts.mkdir(parents=True)
    packages.mkdir(parents=True)
    base = Path(sys.base_prefix, "bin", python)
    (folder / "pyvenv.cfg").write_text(
        f"home = {base.parent}\ninclude-system-site-packages = false\n"
        f"version = {sys.version.split()[0]}\n"
    )
    for name in ("python", "python3"):
        (scripts / name).symlink_to(base)
    for program in Path(sys.executable).parent.iterdir():
        if not program.name.startswith(("python", "chatbridge", "activate")):
            (scripts / program.name).symlink_to(program)
    command = scripts / "chatbridge"
    command.write_text(COMMAND.format(python=scripts / "python"))
    command.chmod(0o755)
    own = sysconfig.get_path("purelib")
    (packages / "packages.pth").write_text(f"import site; site.addsitedir({own!r})\n")
    (packages / "sitecustomize.py").symlink_to(MASK)
    return scripts / "python"


if __name__ == "__main__":
    make(Path(sys.argv[1]).absolute())
