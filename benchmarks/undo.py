"""Previews, the journal of changes, and undo: the requests and the CPU that they add, and planning a hundred undos.

`make bench ARGS="undo"` measures this part alone.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any
from unittest.mock import patch

from benchmarks.report import Row
from benchmarks.stub_store import serving_item
from infra.local.names import REGION
from mcpist.batch.execution.plan import plan
from mcpist.caller import Caller
from mcpist.running.gate import ToolUse
from mcpist.running.preview import preview
from mcpist.tools.access.permissions import Permissions
from tests.core.batch.execution.undo_story import UMA
from tests.core.running.tracker import Tracker, tracking

BLOCKS, CALLS = 15, 40
CHANGES = 100
PLAIN: Caller = replace(UMA, undoable=False)


def rows() -> Iterator[Row]:
    """Measure in this process against a service and a store of other threads."""
    environment = {"LOCAL_SERVICES": "on", "AWS_REGION": REGION, "LEDGER_TABLE": "ledger", "AUDIT_TABLE": "audit"}
    environment |= {"AWS_ACCESS_KEY_ID": "ak", "AWS_SECRET_ACCESS_KEY": "sk", "AWS_LAMBDA_FUNCTION_NAME": "f"}
    with (
        serving_item(b'{"Attributes": {}}') as store,
        patch.dict(os.environ, environment | {"AWS_ENDPOINT_URL": store}),
        tracking() as tracker,
    ):
        tracker.items["7"] = {"id": "7", "title": "old", "state": "open", "note": None}
        yield _of_preview(tracker)
        yield _of_journal(tracker)
    yield _of_planning()


def _of_preview(tracker: Tracker) -> Row:
    tracker.received.clear()
    use = ToolUse("tracker", "update_item", {"item_id": "7", "title": "new"}, "r1")
    preview(Permissions(PLAIN, tracker.catalogue), use, 20)
    return (
        "requests to the service of a call's preview, beside those that the tool makes to know its write",
        str(len(tracker.received)),
        "1",
    )


def _of_journal(tracker: Tracker) -> Row:
    """Take the fastest of the blocks of each kind, in turn, as other work on the machine slows some."""
    titles = count()

    def write(caller: Caller) -> None:
        tracker.run(caller, "update_item", item_id="7", title=f"title {next(titles)}")

    kinds: dict[str, Callable[[], Any]] = {
        "plain": lambda: write(PLAIN),
        "kept": lambda: write(UMA),
        "read": lambda: tracker.run(PLAIN, "get_item", item_id="7"),
    }
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(BLOCKS):
        for kind, work in kinds.items():
            begin = time.thread_time()
            for _ in range(CALLS):
                work()
            found[kind].append((time.thread_time() - begin) / CALLS * 1e6)
    plain, kept, read = (min(found[kind]) for kind in ("plain", "kept", "read"))
    added = (kept - plain - read) / plain
    what = "CPU that the journal adds to a warm write, beside the read of its target"
    return what, f"{added:.0%} ({plain:.0f} us, its read {read:.0f} us, all {kept:.0f} us)", "10%"


def _of_planning() -> Row:
    """Plan the calls of an undo, as those of any batch."""
    with tracking() as tracker:
        permissions = Permissions(UMA, tracker.catalogue)
        steps: list[Any] = [
            {
                "id": f"s{number}",
                "module": "tracker",
                "tool": "update_item",
                "params": {"item_id": str(number), "title": "t"},
                "undoes": f"c_{number:035x}",
            }
            for number in range(CHANGES)
        ]
        seconds = []
        for _ in range(5):
            begin = time.thread_time()
            plan(steps, permissions)
            seconds.append(time.thread_time() - begin)
    return f"CPU of planning the undo of {CHANGES} changes", f"{min(seconds) * 1e3:.0f} ms", "50 ms"
