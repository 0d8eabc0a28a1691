"""`mcpist changes` and `mcpist undo`: list kept changes, and take them back."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.document import CommandResult, in_words
from infra.cli.endpoint import WHOLE_ANSWER, Endpoint
from infra.cli.options import Token, Url
from infra.cli.plan import draw_plan
from infra.cli.rest_client import Access, part
from infra.cli.rest_commands import to_result
from infra.cli.table import render_table
from mcpist.render.answer import compact_json
from mcpist.visible_text import visible

NONE_KEPT = "no change was kept: `mcpist org set --undoable` has all writes kept"
NAMED = Argument(metavar="CHANGE|BATCH_ID|TIME")


def list_changes(
    access: Access,
    change: Annotated[str, Argument(metavar="CHANGE", help="Show this change with its fields.")] = "",
    batch: Annotated[str, Option(metavar="BATCH_ID", help="Only those of this batch.")] = "",
    since: Annotated[str, Option(metavar="TIME", help="Only those since then.")] = "",
    user: Annotated[str, Option(metavar="USER", help="Those of this user, as an administrator.")] = "",
    limit: Annotated[int, Option(metavar="CHANGES", help="How many of them.")] = 50,
) -> CommandResult:
    """List the changes that were kept of your writes, the newest first, or show one."""
    session = access.session(own=not user)
    if change:
        return to_result(session.get(f"/v1/changes/{part(change)}", user=user or None))
    found = session.get("/v1/changes", batch=batch or None, since=since or None, user=user or None, limit=limit)
    rows = [
        (one["id"], one["tool"], one["createdAt"][:19].replace("T", " "), one["batch"], _state(one))
        for one in found["changes"]
    ]
    drawing = render_table(("change", "tool", "started", "batch", ""), rows) if rows else in_words(NONE_KEPT)
    return CommandResult(metadata=found, drawing=drawing)


def undo(
    named: Annotated[str, NAMED],
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would be undone, and what would stay.")] = False,
    anyway: Annotated[bool, Option("--anyway", help="Also undo what somebody else has changed since.")] = False,
    confirm: Annotated[bool, Option("--confirm", help="Run steps that destroy without a question.")] = False,
    url: Url = None,
    token: Token = None,
) -> CommandResult:
    """Undo a change, a batch, or everything since a time; what cannot be undone is named."""
    chosen = {"dry_run": dry_run, "anyway": anyway, "confirm": confirm}
    request: dict[str, Any] = {"undo": named, **{name: True for name, value in chosen.items() if value}, **WHOLE_ANSWER}
    answer = Endpoint.from_options(url, token).call("batch", request)
    if not dry_run:
        return answer
    plan = answer.texts[0]
    return replace(answer, drawing="\n".join([draw_plan(plan), *map(visible, _lines(plan))]))


def _lines(plan: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each field that becomes as it was, and for each change that stays."""
    for change in plan["undoes"]:
        for name, value in change["was"].items():
            yield f"{change['tool']} {name}: {compact_json(change['became'].get(name))} -> {compact_json(value)}"
    for change in plan["left"]:
        yield f"{change['tool']} {change['change']}: {change['reason']}"


def _state(change: dict[str, Any]) -> str:
    if change["undoneBy"]:
        return f"undone by {change['undoneBy']}"
    return change["reason"] or in_words("undoable")
