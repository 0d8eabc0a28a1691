"""Batches of the tracker, with their undo: the steps through the gate, with journal and ledger."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from mcpist.batch.execution.plan import Plan, plan
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header
from mcpist.caller import Caller, Role, Subject
from mcpist.errors import McpistError
from mcpist.running.gate import CONFIRMED, ToolUse, admit
from mcpist.tools.access.permissions import Permissions
from tests.core.running.tracker import Tracker
from tests.core.sample import caller

UMA: Caller = replace(caller(Role("everything", modules=("tracker",), allow=("*",), destructive=True)), undoable=True)
BATCH = "b_0123456789abcdef"


@dataclass
class Story:
    """Writes of one batch at the tracker, and their undo."""

    tracker: Tracker
    caller: Caller = UMA

    def run(
        self, commands: list[Any], batch: str = BATCH, killed: float = 0, random: Random | None = None
    ) -> list[str]:
        """Run the steps of a batch in an order that its graph allows, and return those that succeeded.

        A step may be killed just before or after what it sends; what needs a step that did not succeed is skipped.
        """
        planned = self.plan(commands)
        ended: dict[int, bool] = {}
        for index in planned.graph.order:
            step = planned.steps[index]
            use = ToolUse(step.module, step.tool, _unescaped(step.params), "r1", batch, step.id, step.options)
            if all(ended[need] for need in planned.graph.needs[index]):
                ended[index] = False
                if random:
                    self.tracker.before, self.tracker.after = _killer(random, killed), _killer(random, killed)
                with suppress(McpistError):
                    admit(self.permissions, use, CONFIRMED).run(20)
                    ended[index] = True
            else:
                ended[index] = False
        self.tracker.before = self.tracker.after = lambda *_: None
        return [step.id for index, step in enumerate(planned.steps) if ended[index]]

    def keep_graph(self, commands: list[Any], batch: str = BATCH, resumes: str = "") -> None:
        """Write the batch into the ledger, as a start does."""
        planned, now = self.plan(commands), time.time()
        head = Header(
            organization="acme",
            batch=batch,
            user="uma",
            subject=Subject("i", "uma"),
            roles=("everything",),
            warrant="",
            ids=tuple(step.id for step in planned.steps),
            needs=planned.graph.needs,
            started_at=now,
            closes_at=now + 300,
            expires_at=now + 86_400,
            resumes=resumes,
        )
        ledger.write(head, [Entry(index, step, "writes") for index, step in enumerate(planned.steps)])

    def plan(self, commands: list[Any]) -> Plan:
        return plan(commands, self.permissions)

    @property
    def permissions(self) -> Permissions:
        return Permissions(self.caller, self.tracker.catalogue)

    def titles(self) -> list[tuple[str, str]]:
        return sorted((item["title"], item["state"]) for item in self.tracker.items.values())


def _unescaped(params: dict[str, Any]) -> dict[str, Any]:
    return {name: one.replace("$${", "${") if isinstance(one, str) else one for name, one in params.items()}


def _killer(random: Random, share: float) -> Any:
    """Return what now and then ends the connection of a write."""

    def kill(method: str, _: str) -> None:
        if method != "GET" and random.random() < share:
            raise ConnectionError

    return kill


def step(id_: str, tool: str, *after: str, **params: Any) -> dict[str, Any]:
    return {"id": id_, "module": "tracker", "tool": tool, "params": params, "after": list(after)}


def items(tracker: Tracker, count: int) -> None:
    tracker.items |= {f"i{n}": {"id": f"i{n}", "title": f"t{n}", "state": "open", "note": None} for n in range(count)}
