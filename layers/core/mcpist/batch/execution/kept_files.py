"""The files that a batch uses: they are there when it starts, and do not expire while it is open."""

from collections.abc import Iterable

from mcpist.batch.execution.plan import Plan
from mcpist.batch.ledger.records import Entry, Header
from mcpist.caller import Caller
from mcpist.errors import McpistError
from mcpist.files import access, records, storage
from mcpist.files.content_types import JSON
from mcpist.files.parameters import named_files
from mcpist.files.records import DAY_SECONDS
from mcpist.settings import settings


def keep_files(plan: Plan, caller: Caller, until: float) -> None:
    """Keep the files that steps name until a time; an error has the line of the first step whose file is missing."""
    for _, step, tool in plan.steps_by_line:
        for name, address in named_files(tool.input_schema, step.params):
            try:
                records.keep(access.find(caller, address, f"params.{name}"), until)
            except McpistError as error:
                raise error.with_details(line=step.line, id=step.id) from None


def keep_results(head: Header, entries: Iterable[Entry]) -> None:
    """Keep the large results that a resumed batch takes over for as long as the batch."""
    for entry in entries:
        stored = [entry.result, entry.map_items.values if entry.map_items else None]
        paths = [storage.result_path(head.organization, one.file["sha256"]) for one in stored if one and one.file]
        if paths and (entry.ended_at or entry.started_at or 0) + settings().file_days * DAY_SECONDS < head.expires_at:
            for path in paths:
                storage.renew(path, JSON)
