"""Corrections of a description by what the vendor's own pages say."""

from collections.abc import Sequence
from typing import Any


def confine(document: dict[str, Any], path: str, name: str, values: Sequence[str], *, several: bool = False) -> None:
    """Let a query parameter have these values alone; `several` takes any of them, joined by commas."""
    parameters = document["paths"][path]["get"]["parameters"]
    own = [_resolved(document, one) for one in parameters]
    number = next(number for number, one in enumerate(own) if one["name"] == name)
    one_of = {"type": "string", "enum": list(values)}
    schema = {"type": "array", "items": one_of} if several else one_of
    parameters[number] = {**own[number], "schema": schema, "explode": not several}


def confine_field(document: dict[str, Any], schema: str, name: str, values: Sequence[str]) -> None:
    """Let a field of a schema have these values alone."""
    document["components"]["schemas"][schema]["properties"][name]["enum"] = list(values)


def _resolved(document: dict[str, Any], parameter: dict[str, Any]) -> dict[str, Any]:
    name = parameter.get("$ref", "").rpartition("/")[2]
    return document["components"]["parameters"][name] if name else parameter
