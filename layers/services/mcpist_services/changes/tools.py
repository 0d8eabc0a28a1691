"""Changes that were kept so that they can be undone.

`undo` takes them back, as a batch with the field `undo` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, NoReturn

from pydantic import Field

from mcpist.caller import Caller
from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.running.changes import detail, summary
from mcpist.running.options import CHANGE_PATTERN
from mcpist.tools.declare.argument_types import UtcMoment
from mcpist.tools.declare.call import Lookup
from mcpist.tools.declare.module import Module


@dataclass(frozen=True, slots=True)
class ChangeStore:
    """The changes that a caller may see."""

    caller: Caller

    def list_changes(self, batch: str, since: str | None, user: str, limit: int) -> Sequence[dict[str, Any]]:
        """Return changes, the newest first."""
        from mcpist.batch.execution import undo

        moment = datetime.fromisoformat(since).timestamp() if since else 0
        found = undo.list_changes(self.caller, user=user, batch=batch, since=moment, limit=limit)
        return [summary(self.caller, record) for record in found]

    def show(self, change: str) -> dict[str, Any]:
        """Return one change with its content."""
        return detail(self.caller, change)

    def undo(self, what: str, *, anyway: bool) -> NoReturn:  # noqa: ARG002 - the tool's
        """Refuse a step: doors run a call of the tool as a batch."""
        raise InvalidRequest(field="tool", problem=f'an undo is a batch of its own: send batch {{"undo": "{what}"}}')


changes = Module(
    "changes",
    __doc__,
    api_version="1",
    open_store=ChangeStore,
    schema_first=True,
    category="knowledge",
    tags=("undo", "history"),
)

CHANGE = ("id", "tool", "created_at as created", "batch", "step", "undoable", "reason", "undone_by")
Batch = Annotated[str, Field(max_length=100), "Only those of this batch, e.g. b_0123456789abcdef"]
User = Annotated[str, Field(max_length=128), "For administrators: those of this user, e.g. uma"]
ChangeId = Annotated[
    str, Field(min_length=1, pattern=CHANGE_PATTERN), "Its id, e.g. c_019ac1f0b2c3d1f6a7b8c9d0e1f2a3b4c5d"
]


@changes.reads(shows(*CHANGE))
def list(  # noqa: A001 - the tool's name
    batch: Batch = "",
    since: Annotated[UtcMoment | None, "Only those since then, e.g. 2026-01-31T09:00:00Z"] = None,
    user: User = "",
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
) -> Lookup:
    """List what your tools have changed, the newest first: when, by which batch, and whether it can be undone."""
    return Lookup(ChangeStore.list_changes, batch=batch, since=since, user=user, limit=limit)


@changes.reads(shows(*CHANGE, "arguments", "was", "became", "calls"))
def show(change: ChangeId) -> Lookup:
    """Show one change: the fields as they were and as it left them, and the calls that undo it."""
    return Lookup(ChangeStore.show, change=change)


@changes.writes(shows("batch"), irreversible="an undo is a batch, whose steps are changes of their own")
def undo(
    what: Annotated[str, Field(min_length=1, max_length=300), "A change, a batch, or a time since when, e.g. b_12"],
    anyway: Annotated[bool, "Also undo what somebody else has changed since"] = False,
) -> Lookup:
    """Undo a change, a batch, or all that your tools have changed since a time; what cannot be undone is named."""
    return Lookup(ChangeStore.undo, what=what, anyway=anyway)
