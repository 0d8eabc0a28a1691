"""Shortcuts around a library: each is one file, and without that file the library's own way is taken."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def shortcut(name: str) -> Any:
    """Return the module of a shortcut; None where its file was deleted."""
    return import_module(name) if find_spec(name) else None
