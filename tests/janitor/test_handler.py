"""The janitor's handler: it removes unused machines, and a batch that starts meanwhile loses nothing."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from infra.local.names import ACCOUNT, REGION
from janitor.handler import handler
from janitor.machines import MAX_UNUSED_SECONDS, MIN_IDLE_SECONDS, Candidate, remove, select_machines
from mcpist.aws.clients import client
from mcpist.aws.table import ledger_table
from mcpist.batch.machine import machine_usage
from mcpist.batch.machine.definition import Machine
from mcpist.batch.machine.machine_usage import USE_WRITE_INTERVAL_SECONDS, DeployedMachine, MachineUse
from mcpist.settings import settings
from tests.lambda_context import Context

EVENTS = Path(__file__).parents[2] / "events"
DAY_SECONDS = 86_400
LONG_AGO = MAX_UNUSED_SECONDS + USE_WRITE_INTERVAL_SECONDS + 60


def tidy(context: Context | None = None) -> dict[str, Any]:
    """Invoke the janitor and return what it says of machines."""
    answer = handler(json.loads((EVENTS / "janitor_schedule.json").read_text("utf-8")), context or Context())
    return {name: answer[name] for name in ("machines", "candidates", "removed")}


def name_of(number: int, stack: str = "mcpist-local") -> str:
    return Machine({"Comment": str(number)}, 1).name(stack, "role")


type Make = Callable[..., str]


@pytest.fixture
def make(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> Make:  # noqa: ARG001 - it holds the machines
    """Create a machine like the start of a batch does, last used some seconds ago, or never."""
    from moto.stepfunctions.models import stepfunctions_backends

    def make(number: int, *, used: float | None = None, age: float = LONG_AGO, stack: str = "mcpist-local") -> str:
        name = name_of(number, stack)
        client("stepfunctions").create_state_machine(
            name=name,
            definition='{"StartAt":"a","States":{"a":{"Type":"Succeed"}}}',
            roleArn=f"arn:aws:iam::{ACCOUNT}:role/machines",
            type="EXPRESS",
            tags=[{"key": "mcpist:stack", "value": stack}],
        )
        made = stepfunctions_backends[ACCOUNT][REGION].state_machines[-1]
        monkeypatch.setattr(made, "creation_date", made.creation_date - timedelta(seconds=age))
        if used is not None:
            note(name, used)
        return name

    return make


def note(name: str, ago: float) -> None:
    used_at = time.time() - ago
    ledger_table().put({"pk": "machines", "sk": name, "used_at": used_at, "states": 3})


def standing() -> set[str]:
    return {machine.name for machine in machine_usage.list_machines()}


# -- choosing ------------------------------------------------------------------------------------------


def test_machines_unused_for_a_week_are_removed(make: Make) -> None:
    old, fresh, young = make(1, used=LONG_AGO), make(2, used=DAY_SECONDS), make(3, age=60)
    answer = tidy()
    assert answer == {"machines": 3, "candidates": 1, "removed": [old]}
    assert standing() == {fresh, young}


def test_a_machine_without_recorded_use_counts_from_its_creation(make: Make) -> None:
    never, new = make(1), make(2, age=DAY_SECONDS)
    assert tidy()["removed"] == [never]
    assert standing() == {new}


def test_only_machines_that_this_stack_generated_are_touched(make: Make) -> None:
    make(1, stack="mcpist-dev")
    others = [make(2, stack="another")]
    for name in ("mcpist-local-relay", "mcpist-local-0123"):
        client("stepfunctions").create_state_machine(
            name=name, definition="{}", roleArn=f"arn:aws:iam::{ACCOUNT}:role/machines", type="EXPRESS"
        )
        note(name, LONG_AGO)
        others.append(name)
    assert tidy() == {"machines": 4, "candidates": 0, "removed": []}
    assert set(others) < standing()


def test_a_machine_with_the_tag_of_another_stack_is_kept(make: Make) -> None:
    name = make(1)
    (machine,) = machine_usage.list_machines()
    client("stepfunctions").tag_resource(
        resourceArn=machine.arn, tags=[{"key": "mcpist:stack", "value": "mcpist-long"}]
    )
    assert tidy()["removed"] == []
    assert standing() == {name}


def test_near_the_accounts_limit_idle_machines_are_removed_but_none_that_may_be_running(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MACHINE_LIMIT", "5")
    days = [6, 3, 5, 4]
    names = {day: make(day, used=day * DAY_SECONDS) for day in days}
    running = make(9, used=MIN_IDLE_SECONDS - 60)
    settings.cache_clear()
    assert tidy()["removed"] == [names[6]]
    monkeypatch.setenv("MACHINE_LIMIT", "1")
    settings.cache_clear()
    assert tidy()["removed"] == [names[5], names[4], names[3]]
    assert standing() == {running}


def test_as_many_of_ten_thousand_machines_are_chosen_as_exceed_the_limit() -> None:
    now = time.time()
    machines = [DeployedMachine(name_of(number), "", now - LONG_AGO) for number in range(9_500)]
    used = {machine.name: MachineUse(now - 2 * DAY_SECONDS - number, 1) for number, machine in enumerate(machines)}
    found = select_machines(machines, used, stack="mcpist-local", limit=10_000, now=now)
    assert [candidate.machine for candidate in found] == machines[:-501:-1]


# -- removing --------------------------------------------------------------------------------------


def test_a_machine_that_a_batch_has_just_used_is_kept(make: Make) -> None:
    name = make(1, used=LONG_AGO)
    (machine,) = machine_usage.list_machines()
    seen = machine_usage.list_uses()[name]
    assert machine_usage.record_use(name, 3)
    assert not remove(Candidate(machine, seen, 0))
    assert standing() == {name}


def test_a_batch_runs_elsewhere_while_its_machine_is_being_removed(make: Make) -> None:
    name = make(1, used=LONG_AGO)
    assert tidy()["removed"] == [name]
    assert not machine_usage.record_use(name, 3)
    assert tidy() == {"machines": 0, "candidates": 0, "removed": []}
    assert machine_usage.record_use(name, 3)


def test_an_interrupted_removal_is_continued(make: Make) -> None:
    name = make(1, used=LONG_AGO)
    assert machine_usage.mark_removing(name, machine_usage.list_uses()[name])
    assert not machine_usage.record_use(name, 3)
    assert tidy()["removed"] == [name]


def test_a_run_stops_before_its_timeout_and_the_next_one_continues(make: Make) -> None:
    name = make(1, used=LONG_AGO)
    assert tidy(Context(seconds=4)) == {"machines": 1, "candidates": 1, "removed": []}
    assert tidy()["removed"] == [name]


# -- recorded uses ---------------------------------------------------------------------------------------------


def test_a_use_is_recorded_once_a_day_and_sandbox(make: Make, aws: list[str]) -> None:
    name = make(1, used=LONG_AGO)
    aws.clear()
    assert all(machine_usage.record_use(name, 7) for _ in range(3))
    assert aws == ["UpdateItem"]
    noted = machine_usage.list_uses()[name]
    assert (noted.states, noted.being_removed) == (7, False)
    assert noted.used_at == pytest.approx(time.time(), abs=5)
