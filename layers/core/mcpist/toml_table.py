"""TOML files beside a module: texts and names that are data, read when they are needed first."""

from functools import cache
from pathlib import Path
from typing import Any


@cache
def toml_beside(module_file: str, name: str) -> dict[str, Any]:
    """Read a TOML file in the folder of a module, by the module's `__file__`."""
    import tomllib  # 4 ms that a start need not wait for

    return tomllib.loads(Path(module_file).with_name(name).read_text("utf-8"))
