"""`mcpist batches` and `mcpist cancel`: list batches, and end one."""

from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.document import CommandResult, in_words
from infra.cli.rest_client import Access, part
from infra.cli.table import render_table
from mcpist.batch.timeline import describe_end


def list_batches(
    access: Access,
    everybody: Annotated[bool, Option("--everybody", help="Those of all users, as an administrator.")] = False,
    limit: Annotated[int, Option(metavar="BATCHES", help="Batches of a page.")] = 20,
    cursor: Annotated[str, Option(metavar="CURSOR", help="Show the next page; the page before names its cursor.")] = "",
) -> CommandResult:
    """List your batches, the newest first."""
    session = access.session(own=not everybody)
    found = session.get("/v1/batches", everybody=everybody or None, limit=limit, cursor=cursor)
    head = ("batch", *(("user",) if everybody else ()), "state", "steps", "started", "")
    table = render_table(head, [_row(batch, named=everybody) for batch in found["batches"]])
    drawing = table if found["batches"] else in_words("no batches")
    more = f"\nmore: --cursor {found['cursor']}" if found["cursor"] else ""
    return CommandResult(metadata=found, drawing=drawing + more)


def cancel(access: Access, batch_id: Annotated[str, Argument(metavar="BATCH_ID")]) -> CommandResult:
    """Let no further step of a batch start; a write that runs ends by itself."""
    found = access.session(own=True).request("POST", f"/v1/batches/{part(batch_id)}/cancel")
    return CommandResult(metadata=found, drawing=in_words(f"batch {found['id']}: {found['state']}, {_steps(found)}"))


def _row(batch: dict[str, Any], *, named: bool) -> tuple[str, ...]:
    """Return a batch's line; what did not succeed is counted in its last column."""
    state = describe_end(batch["outcomes"]) if batch["state"] == "done" else batch["state"]
    others = ", ".join(f"{count} {status}" for status, count in batch["outcomes"].items() if status != "succeeded")
    started = batch["startedAt"].partition(".")[0].replace("T", " ")
    return (
        batch["id"],
        *((batch["user"],) if named else ()),
        *map(in_words, (state, _steps(batch))),
        started,
        others,
    )


def _steps(batch: dict[str, Any]) -> str:
    """Return e.g. `4 of 7 steps`; steps that were cancelled did not run."""
    return f"{batch['settled'] - batch['outcomes'].get('cancelled', 0)} of {batch['total']} steps"
