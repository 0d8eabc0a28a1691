"""`mcpist ps`: the stacks of this folder."""

from typing import Any

from infra.cli.document import CommandResult
from infra.cli.stacks import LocalStack, known_stacks
from infra.cli.table import render_table


def list_stacks() -> CommandResult:
    """List what `mcpist up` runs from this folder, or keeps in it."""
    stacks = [_describe(stack) for stack in known_stacks()]
    head = ("stack", "state", "endpoint", "kept")
    rows = [(*(str(one[key]) for key in ("stack", "state", "mcp_url")), _size(one["kept_bytes"])) for one in stacks]
    drawing = render_table(head, rows) if rows else "No stack runs or is kept here: start one with `mcpist up`."
    return CommandResult(metadata={"stacks": stacks}, drawing=drawing)


def _describe(stack: LocalStack) -> dict[str, Any]:
    facts = (stack.facts() or {}) if stack.runs else {}
    return {
        "stack": stack.name,
        "state": "running" if stack.runs else "stopped",
        "mcp_url": str(facts.get("mcp_url", "")),
        "pid": facts.get("pid"),
        "kept_bytes": sum(file.stat().st_size for file in stack.folder.glob(f"{stack.state_file.name}*")),
    }


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:.1f} MB"
