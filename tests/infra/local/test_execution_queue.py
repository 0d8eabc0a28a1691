"""The turns of executions: the width of machines, and who runs when."""

import json
from collections.abc import Iterator
from threading import Event, Semaphore, active_count
from typing import Any

import pytest

from infra.local.step_functions import (
    DEFAULT_MAP_BRANCHES,
    MAX_BRANCHES,
    MAX_BRANCHES_PER_ORGANIZATION,
    ExecutionQueue,
    branches_of,
    organization_of,
)

TASK = {"Type": "Task", "End": True}
ONE = {"StartAt": "a", "States": {"a": TASK}}


class Executions:
    """Executions that run until they may end."""

    def __init__(self) -> None:
        self.queue = ExecutionQueue()
        self.started = {name: Semaphore(0) for name in ("greedy", "modest")}
        self.endings: dict[str, list[Event]] = {"greedy": [], "modest": []}

    def start(self, organization: str, count: int = 1, branches: int = 1) -> None:
        for _ in range(count):
            end = Event()
            self.endings[organization].append(end)

            def run(end: Event = end) -> None:
                self.started[organization].release()
                end.wait(60)

            self.queue.submit(organization, branches, run)

    def expect(self, organization: str, count: int) -> None:
        """Wait for the start of so many more, and for no other."""
        assert all(self.started[organization].acquire(timeout=10) for _ in range(count))
        assert not self.started[organization].acquire(blocking=False)


@pytest.fixture
def executions() -> Iterator[Executions]:
    executions = Executions()
    yield executions
    executions.queue.close()
    for end in [*executions.endings["greedy"], *executions.endings["modest"]]:
        end.set()


def test_an_organization_with_many_executions_runs_its_share_and_nobody_waits_for_it(executions: Executions) -> None:
    before = active_count()
    executions.start("greedy", 45, branches=20)
    executions.expect("greedy", MAX_BRANCHES_PER_ORGANIZATION // 20)
    assert active_count() - before == MAX_BRANCHES_PER_ORGANIZATION // 20
    executions.start("modest", branches=60)
    executions.expect("modest", 1)
    executions.endings["greedy"][0].set()
    executions.expect("greedy", 1)


def test_an_execution_that_is_wider_than_all_places_runs_alone(executions: Executions) -> None:
    executions.start("greedy", branches=MAX_BRANCHES + 1)
    executions.start("modest")
    executions.expect("greedy", 1)
    executions.expect("modest", 0)
    executions.endings["greedy"][0].set()
    executions.expect("modest", 1)


def test_a_wide_execution_waits_for_a_greedy_organization_no_longer_than_its_running_ones(
    executions: Executions,
) -> None:
    executions.start("greedy", 10, branches=MAX_BRANCHES_PER_ORGANIZATION)
    executions.expect("greedy", 1)
    executions.start("modest", branches=MAX_BRANCHES)
    executions.expect("modest", 0)
    executions.endings["greedy"][0].set()
    executions.expect("modest", 1)
    executions.expect("greedy", 0)


def test_what_waits_when_the_embedded_aws_ends_never_starts(executions: Executions) -> None:
    executions.start("greedy", 2, branches=MAX_BRANCHES)
    executions.expect("greedy", 1)
    executions.queue.close()
    executions.endings["greedy"][0].set()
    executions.start("modest")
    executions.expect("modest", 1)
    executions.expect("greedy", 0)


@pytest.mark.parametrize(
    ("state", "branches"),
    [
        (TASK, 1),
        ({"Type": "Parallel", "Branches": [ONE] * 7}, 7),
        ({"Type": "Parallel", "Branches": [ONE, {"States": {"b": {"Type": "Parallel", "Branches": [ONE] * 3}}}]}, 4),
        ({"Type": "Map", "MaxConcurrency": 10, "ItemProcessor": ONE}, 10),
        ({"Type": "Map", "Iterator": ONE}, DEFAULT_MAP_BRANCHES),
    ],
)
def test_the_branches_of_a_machine_are_those_that_can_run_at_once(state: Any, branches: int) -> None:
    assert branches_of(json.dumps({"StartAt": "a", "States": {"a": state, "then": TASK}})) == branches


def test_an_execution_belongs_to_the_organization_of_its_batch() -> None:
    assert organization_of({"batch": "acme#b_1"}) == "acme"
    assert [organization_of(other) for other in ({}, [], None, {"batch": 1})] == ["", "", "", ""]
