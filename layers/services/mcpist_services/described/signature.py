"""Signatures: the schema of a parameter as short as one line for a model needs it."""

from collections.abc import Mapping
from typing import Any

MAX_SIGNATURE_CHOICES = 40  # characters of an enumeration in a signature
MAX_DEFAULT_CHARACTERS = 20
MAX_KINDS = 2  # of a value in a signature; more are written as any


def brief(spec: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema as short as a signature needs it."""
    default = {"default": spec["default"]} if len(str(spec.get("default", "x" * 99))) < MAX_DEFAULT_CHARACTERS else {}
    return {"type": _kind(spec, definitions), **default}


def _kind(spec: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    choices = "|".join(str(one) for one in spec.get("enum", ()) if one is not None)
    if choices and len(choices) <= MAX_SIGNATURE_CHOICES:
        return choices
    if "$ref" in spec:
        return _kind(definitions.get(spec["$ref"].removeprefix("#/$defs/"), {}), {})
    stated = spec.get("type", "object" if "properties" in spec or "allOf" in spec else None)
    kinds = [kind for kind in (stated if isinstance(stated, list) else [stated]) if kind not in {None, "null"}]
    if kinds == ["array"]:
        return f"[{_kind(spec.get('items', {}), definitions)}]"
    options = [one for key in ("anyOf", "oneOf") for one in spec.get(key, ())] if not kinds else []
    kinds = kinds or list(dict.fromkeys(_kind(one, definitions) for one in options))
    return "|".join(kinds) if 0 < len(kinds) <= MAX_KINDS else "any"
