"""Settle the steps of a batch in the ledger, in place of the step runner."""

import json
from typing import Any

from mcpist.aws.table import ledger_table
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Ending, Entry, Header, Status
from mcpist.errors import McpistError, to_message


class LedgerDriver:
    """Settles the steps of one batch."""

    def __init__(self, batch: str, organization: str = "acme") -> None:
        self.pk = ledger.partition_key(organization, batch)

    @property
    def head(self) -> Header:
        return ledger.get_header(self.pk)

    def step(self, id_: str) -> Entry:
        return ledger.get_entries(self.pk, [self.head.ids.index(id_)])[0]

    def finish(
        self, id_: str, status: Status = "succeeded", *, raw: Any = None, error: McpistError | None = None
    ) -> None:
        """Settle a step with its JSON or its error."""
        entry = self._finish(self.step(id_), status, raw, error)
        transitions.settle(self.pk, entry.index, entry.status or status)

    def finish_each(self, id_: str, raws: list[Any], values: list[Any] | None = None) -> None:
        """Settle a step with `each`: every element with its JSON or its error; `values` are its list."""
        entry = transitions.store_list(self.head, self.step(id_), values or list(range(len(raws))))
        transitions.count_elements(self.head, entry.index, len(raws))
        for element, raw in zip(ledger.get_elements(self.pk, entry), raws, strict=True):
            failed = isinstance(raw, McpistError)
            self._finish(element, "failed" if failed else "succeeded", None if failed else raw, raw if failed else None)
        entry = ledger.finish_gathered(self.head, entry, ledger.gather(self.head, entry))
        transitions.settle(self.pk, entry.index, entry.status or "failed")

    def expire(self) -> None:
        """Move the deadline of the batch into the past."""
        ledger_table().update(self.pk, "batch", "SET #closes_at = :past", values={":past": 1})

    def _finish(self, entry: Entry, status: Status, raw: Any, error: McpistError | None) -> Entry:
        content = json.dumps(raw).encode() if status == "succeeded" else None
        message = None if error is None else to_message(error)
        return transitions.finish(self.head, entry, None, Ending(status, error=message), content)
