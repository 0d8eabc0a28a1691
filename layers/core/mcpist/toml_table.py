"""TOML files: texts and names that are data, read when they are needed first."""

from functools import cache
from pathlib import Path
from typing import Any


@cache
def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file."""
    import tomllib  # with the file, 4 ms that a start need not wait for

    return tomllib.loads(file.read_text("utf-8"))


def toml_beside(module_file: str, name: str) -> dict[str, Any]:
    """Read a TOML file in the folder of a module, by the module's `__file__`."""
    return read_toml(Path(module_file).with_name(name))
