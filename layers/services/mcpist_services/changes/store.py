"""The changes of one caller, as the module's tools ask them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from mcpist.caller import Caller
from mcpist.errors import InvalidRequest
from mcpist.running import changes


@dataclass(frozen=True, slots=True)
class ChangeStore:
    """The changes that a caller may see."""

    caller: Caller

    def list_changes(self, batch: str, since: str | None, user: str, limit: int) -> list[dict[str, Any]]:
        """Return changes, the newest first."""
        from mcpist.batch.execution import undo

        moment = datetime.fromisoformat(since).timestamp() if since else 0
        found = undo.list_changes(self.caller, user=user, batch=batch, since=moment, limit=limit)
        return [changes.summary(self.caller, record) for record in found]

    def show(self, change: str) -> dict[str, Any]:
        """Return one change with its content."""
        return changes.detail(self.caller, change)

    def undo(self, what: str, *, anyway: bool) -> NoReturn:  # noqa: ARG002 - the tool's
        """Refuse a step: doors run a call of the tool as a batch."""
        raise InvalidRequest(field="tool", problem=f'an undo is a batch of its own: send batch {{"undo": "{what}"}}')
