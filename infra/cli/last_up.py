"""The file in which a running `mcpist up` keeps its facts for the other commands."""

import json
from pathlib import Path
from typing import Any

from infra.cli.document import CommandError

LAST_UP = Path(".mcpist/up.json")


def last_up(instead: str) -> dict[str, Any]:
    """Read the facts of the `mcpist up` of this folder; without one, a CommandError says what to do `instead`."""
    try:
        facts: dict[str, Any] = json.loads(LAST_UP.read_text("utf-8"))
    except (OSError, ValueError):
        hint = f"Start one with `mcpist up`, or {instead}."
        raise CommandError("VALIDATION_ERROR", "No endpoint is known.", hint) from None
    return facts
