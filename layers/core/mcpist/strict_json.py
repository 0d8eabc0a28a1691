"""JSON as its standard has it: Python also reads NaN and the infinities, which nobody else could."""

import json
from typing import Any, NoReturn


def load_json(text: str, **options: Any) -> Any:
    """Return the value of a text; ValueError where it is no JSON, RecursionError where it is nested too deeply."""
    return json.loads(text, parse_constant=_refuse, **options)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return the object that a text is the JSON of; an empty one for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
