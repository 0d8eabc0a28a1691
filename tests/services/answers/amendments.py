"""Corrections of a description by what the vendor's own pages say."""

from collections.abc import Sequence
from typing import Any


def confine(document: dict[str, Any], path: str, name: str, values: Sequence[str], *, several: bool = False) -> None:
    """Let a query parameter have these values alone; `several` takes any of them, joined by commas."""
    parameters = document["paths"][path]["get"]["parameters"]
    parameter = next(one for one in parameters if one.get("name") == name)
    one_of = {"type": "string", "enum": list(values)}
    parameter["schema"] = {"type": "array", "items": one_of} if several else one_of
    parameter["explode"] = not several


def confine_field(document: dict[str, Any], schema: str, name: str, values: Sequence[str]) -> None:
    """Let a field of a schema have these values alone."""
    document["components"]["schemas"][schema]["properties"][name]["enum"] = list(values)
