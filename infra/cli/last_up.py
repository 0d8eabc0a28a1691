"""The facts that a running `mcpist up` keeps for the other commands."""

from typing import Any

from infra.cli.document import CommandError
from infra.cli.stacks import chosen_stack


def last_up(instead: str) -> dict[str, Any]:
    """Return the facts of the `mcpist up` of this folder; without one, a CommandError says what to do `instead`."""
    facts = chosen_stack().facts()
    if facts is None:
        hint = f"Start one with `mcpist up`, or {instead}."
        raise CommandError("VALIDATION_ERROR", "No endpoint is known.", hint)
    return facts


def is_up() -> bool:
    """Whether such facts exist."""
    return chosen_stack().facts_file.exists()
