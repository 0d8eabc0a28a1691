"""A batch in the ledger, and the step runner's handler, for the tests of this room."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Claim, Ending, Entry, Header, Status
from mcpist.caller import Subject
from mcpist.errors import McpistError, from_message
from step_runner.handler import handler
from tests.lambda_context import Context

EVENTS = Path(__file__).parents[2] / "events"
PK = "acme#b_0123456789abcdef"
EXECUTION = json.loads((EVENTS / "step_runner_step.json").read_text("utf-8"))["execution"]


def enter(name: str = "step", request: str = "request-1", context: Any = None, **changes: Any) -> dict[str, Any]:
    """Return the response to an event of `events/` with some changed fields, in an execution that has just begun."""
    event = json.loads((EVENTS / f"step_runner_{name}.json").read_text("utf-8"))
    event |= {"started": datetime.now(UTC).isoformat()} | changes
    return handler(event, context or Context(60, request))


type Write = Callable[..., Header]


@pytest.fixture
def write(organization: str, login: LocalLogin) -> Write:
    """Write a batch into the ledger; each step is a tool of rag with params and needs, and options by number."""

    def write(
        *steps: tuple[str, dict[str, Any], set[int]],
        closes_in: float = 300,
        effect: str = "reads",
        warrant: str = "",
        lenient: frozenset[int] = frozenset(),
        **options: dict[str, Any],
    ) -> Header:
        now = time.time()
        options_by_step = {int(name.removeprefix("step")): option for name, option in options.items()}
        head = Header(
            organization=organization,
            batch="b_0123456789abcdef",
            user="uma",
            subject=Subject(login.issuer, "uma"),
            roles=("members",),
            warrant=warrant,
            ids=tuple(f"step{index}" for index in range(len(steps))),
            needs=tuple(frozenset(needs) for *_, needs in steps),
            started_at=now,
            closes_at=now + closes_in,
            expires_at=now + 86_400,
            map_steps=frozenset(index for index, option in options_by_step.items() if "each" in option),
            continue_on_error=lenient,
        )
        entries = [
            Entry(index, step_of(index, tool, params, **options_by_step.get(index, {})), effect)
            for index, (tool, params, _) in enumerate(steps)
        ]
        ledger.write(head, entries)
        return head

    return write


def step_of(index: int, tool: str, params: dict[str, Any], **options: Any) -> Step:
    """Return a step that calls a tool of rag."""
    fixed: Any = {"id": f"step{index}", "has_explicit_id": True, "module": "rag", "output": True}
    return Step(**{"line": index + 1, "tool": tool, "params": params, **fixed, **options})


def entry(step: int = 0) -> Entry:
    """Return a step as it is now."""
    return ledger.get_entries(PK, [step])[0]


def elements(step: int = 0) -> list[Entry]:
    """Return a step's elements as they are now."""
    return ledger.get_elements(PK, entry(step))


def outcome(step: int = 0) -> str:
    """Return the status with which a step settled."""
    return ledger.get_header(PK).outcome[step]


def error_of(found: Entry) -> McpistError:
    """Return the error that a step or an element ended with."""
    assert found.error is not None
    return from_message(found.error)


def has_settled(step: int, content: bytes = b"null", status: Status = "succeeded") -> None:
    """End and settle a step."""
    result = content if status == "succeeded" else None
    transitions.finish(ledger.get_header(PK), entry(step), None, Ending(status), result)
    transitions.settle(PK, step, status)


def claim_by(
    sandbox: str, found: Entry | None = None, *, execution: str = "another", retry: int = 0, ttl_seconds: float = 60
) -> Entry:
    """Claim a step or an element for another sandbox."""
    return transitions.claim(
        ledger.get_header(PK), found or entry(), Claim(sandbox, execution, retry, time.time() + ttl_seconds)
    )
