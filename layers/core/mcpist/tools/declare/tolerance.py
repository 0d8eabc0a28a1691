"""The other forms in which models and programs write a request, taken where they can mean nothing else.

They are in no schema: whoever reads one, writes the names and the forms that it shows.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel, model_validator

# The names of a field; the first is the field's own.
PARAMS = AliasChoices("params", "arguments", "args", "parameters")
TOOL = AliasChoices("tool", "name")
COMMANDS = AliasChoices("commands", "steps")
AFTER = AliasChoices("after", "depends_on", "needs")
EACH = AliasChoices("each", "foreach", "for_each")

NULL = {"type": "null"}
DAYS: Mapping[str, str] = {"today": "now", "tomorrow": "now+1d", "yesterday": "now-1d"}
_WHOLE_REFERENCE = re.compile(r"\$\{[^{}]*\}")


class TolerantModel(BaseModel):
    """A part of a request, in which null stands for a field that is left out, where one may be."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, value: Any) -> Any:
        if not isinstance(value, dict) or None not in value.values():
            return value
        optional = {
            name
            for own, field in cls.model_fields.items()
            if not field.is_required()
            for name in (field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else (own,))
        }
        return {name: inner for name, inner in value.items() if inner is not None or name not in optional}


def tolerant(schema: Any, value: Any) -> Any:
    """Return a value, such as arguments, in the form that its JSON schema wants; a schema of others may be broken.

    null is absent where it may be, one text is a list of one, and `today Asia/Tokyo` is a day.
    """
    if not isinstance(schema, dict):
        return value
    if isinstance(options := schema.get("anyOf"), list) and NULL in options and len(options) == 2:
        return tolerant(options[options[0] == NULL], value)
    match value:
        case dict():
            specs = schema.get("properties")
            specs = specs if isinstance(specs, dict) else {}
            return {
                name: tolerant(specs.get(name), inner)
                for name, inner in value.items()
                if inner is not None or name not in specs or _is_required(schema, name) or _takes_null(specs[name])
            }
        case list():
            return [tolerant(schema.get("items"), inner) for inner in value]
        case str() if _takes_texts(schema):
            found = texts(value)
            return value if found is None else found
        case str() if schema.get("format") == "day" and " " in value:
            return day(value)
    return value


def texts(text: str, *, split: bool = False) -> list[str] | None:
    """Return the list of texts that is written as JSON or as one text; None where another may be meant.

    With `split` commas part a text, too.
    """
    if _WHOLE_REFERENCE.fullmatch(text):
        return None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, list) and all(isinstance(one, str) for one in read):
        return read
    parts = [part for part in map(str.strip, text.split(",")) if part]
    return parts if split else [text] if "," not in text else None


def day(text: str, *, zone: str = "", shift: str = "") -> str:
    """Return a day that is written as a word in the notation of times, with its zone or this one; else the text."""
    word, _, own = text.strip().partition(" ")
    math = DAYS.get(word.casefold())
    return f"{math}{shift} {own or zone}" if math and (own or zone) else text


def _is_required(schema: Mapping[str, Any], name: str) -> bool:
    required = schema.get("required")
    return isinstance(required, list) and name in required


def _takes_null(spec: Any) -> bool:
    """Whether null can be a value of a schema; also where that is not clear."""
    if not isinstance(spec, dict):
        return True
    options = spec.get("anyOf") or spec.get("oneOf")
    if isinstance(options, list):
        return any(map(_takes_null, options))
    kinds = spec.get("type", spec.get("enum"))
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return bool(spec.get("nullable")) or not {"null", None}.isdisjoint(
        kind for kind in kinds if isinstance(kind, str | None)
    )


def _takes_texts(schema: Mapping[str, Any]) -> bool:
    items = schema.get("items")
    is_of_texts = isinstance(items, dict) and items.get("type") == "string"
    return is_of_texts and schema.get("type") in ("array", ["array", "null"])
