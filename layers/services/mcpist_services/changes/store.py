"""The changes of one caller, as the module's tools ask them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcpist.caller import Caller
from mcpist.running import changes
from mcpist.running.changes import ChangeRecord


@dataclass(frozen=True, slots=True)
class ChangeStore:
    """The changes that a caller may see."""

    caller: Caller

    def list_changes(self, batch: str, since: str | None, user: str, limit: int) -> list[dict[str, Any]]:
        """Return changes, the newest first."""
        moment = datetime.fromisoformat(since).timestamp() if since else 0
        found = changes.list_changes(self.caller, user=user, batch=batch, since=moment, limit=limit)
        return [self._row(record) for record in found]

    def show(self, change: str) -> dict[str, Any]:
        """Return one change with its content."""
        record = changes.find(self.caller, change)
        content = changes.load(record)
        calls = [{"tool": tool, "params": arguments} for tool, arguments in content.calls]
        return {
            **self._row(record),
            "arguments": content.arguments,
            "was": content.was,
            "became": content.became,
            "calls": calls,
        }

    def _row(self, record: ChangeRecord) -> dict[str, Any]:
        return {
            "id": changes.reference(self.caller, record),
            "tool": record.tool,
            "created_at": record.created_at,
            "account": record.account,
            "batch": record.batch,
            "step": record.step,
            "undoable": record.is_undoable,
            "reason": record.problem,
            "undone_by": record.undone_by,
        }
