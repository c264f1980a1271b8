"""The real package with another `hub` module: first on PYTHONPATH, it is what a link starts."""

from pathlib import Path

__version__ = "0.1.0"
__path__.append(str(Path(__file__).parents[4] / "chatbridge"))
