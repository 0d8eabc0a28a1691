"""The progress that people who watch a batch see at each moment."""

import json
import time
from dataclasses import replace
from typing import Any

from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.progress import is_over, progress
from mcpist.batch.ledger.records import Ending
from mcpist.batch.options import BatchOptions
from tests.step_runner.ledger_batch import PK, Write, claim_by, elements, enter, entry, has_settled
from tests.step_runner.ledger_batch import write as write

DOCS = ("list_docs", {}, set())


def steps_shown() -> dict[str, dict[str, Any]]:
    """Return the progress of each step by its id."""
    document = progress(ledger.get_header(PK), ledger.get_entries(PK), time.time())
    json.dumps(document)
    return {step["id"]: step for step in document["steps"]}


def test_a_step_is_shown_as_waiting_ready_running_and_ended(write: Write) -> None:
    write(DOCS, ("list_tags", {}, {0}), ("list_tags", {}, {0, 1}))
    assert [step["state"] for step in steps_shown().values()] == ["ready", "waiting", "waiting"]
    claim_by("sandbox")
    running = steps_shown()["step0"]
    assert (running["state"], "ended_at" in running) == ("running", False)
    assert running["started_at"] <= time.time()
    write(DOCS, ("list_tags", {}, {0}), ("list_tags", {}, {0, 1}))
    enter()
    assert steps_shown()["step0"]["state"] == "succeeded"
    assert steps_shown()["step0"]["ended_at"] >= steps_shown()["step0"]["started_at"]
    assert steps_shown()["step1"]["state"] == "ready"
    assert (steps_shown()["step2"]["needs"], steps_shown()["step2"]["waits_for"]) == (["step0", "step1"], ["step1"])


def test_steps_are_shown_in_the_order_of_their_lines(write: Write) -> None:
    write(DOCS, DOCS, step0={"line": 2}, step1={"line": 1})
    assert list(steps_shown()) == ["step1", "step0"]


def test_the_elements_of_a_list_are_counted_while_they_run_and_afterwards(write: Write) -> None:
    write(DOCS, ("search_docs", {"query": "${each.q}"}, {0}), step1={"each": "${step0.raw}"})
    assert steps_shown()["step1"]["elements"] == {"count": 0, "settled": 0}
    has_settled(0, b'[{"q":"a"},{"q":"b"},{"no":"c"}]')
    enter(step=1)
    assert steps_shown()["step1"]["elements"] == {"count": 3, "settled": 0}
    assert steps_shown()["step1"]["state"] == "running"
    for number in (2, 0):
        enter("element", element=number)
    assert steps_shown()["step1"]["elements"] == {"count": 3, "settled": 2, "succeeded": 1, "failed": 1}
    assert len(elements(1)) == 3
    enter("element", element=1)
    enter("gather")
    assert steps_shown()["step1"]["state"] == "succeeded"
    assert steps_shown()["step1"]["elements"] == {"count": 3, "settled": 3, "succeeded": 2, "failed": 1}


def test_steps_that_a_resumed_batch_carried_over_have_no_times(write: Write) -> None:
    head = write(DOCS)
    transitions.finish(head, entry(), None, Ending("succeeded"), b"[]")
    resumed = replace(head, resumes="b_old", started_at=time.time() + 60, seq={0: 0}, outcome={0: "succeeded"})
    (carried,) = progress(resumed, ledger.get_entries(PK), time.time())["steps"]
    assert (carried["state"], carried["kept"], "ended_at" in carried) == ("succeeded", True, False)


def test_progress_contains_no_params_and_no_results(write: Write) -> None:
    write(("search_docs", {"query": "canary"}, set()))
    transitions.finish(ledger.get_header(PK), entry(), None, Ending("succeeded"), b'["canary"]')
    assert "canary" not in json.dumps(progress(ledger.get_header(PK), ledger.get_entries(PK), 0))


def test_what_undoes_a_failed_batch_is_awaited_until_it_is_named_or_the_time_of_the_batch_is_over(write: Write) -> None:
    write(DOCS)
    transitions.settle(PK, 0, "failed")
    head = ledger.get_header(PK)
    assert is_over(head, head.started_at)
    wanting = replace(head, options=BatchOptions(on_failure="undo"))
    assert not is_over(wanting, wanting.closes_at - 1)
    assert is_over(wanting, wanting.closes_at)  # whoever should have begun it was lost
    assert is_over(replace(wanting, undone_by=""), wanting.closes_at - 1)
