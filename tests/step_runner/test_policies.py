"""Policies at the step runner: each step is decided again, with what is known and by the policies of then."""

from collections.abc import Iterator
from typing import Any

import pytest

from mcpist.caller import Policies
from mcpist.memory import forget_entries
from mcpist.people import directory, edits
from tests.step_runner.ledger_batch import Write, enter, entry, error_of, has_settled, outcome

BASE = '@id("base") permit (principal, action, resource);'


@pytest.fixture(autouse=True)
def without(organization: str) -> Iterator[None]:
    yield
    directory.change(organization, edits.set_policies(None))
    directory.access_cache.clear()


def hold(rule: str, **fields: Any) -> None:
    """Let the organization have a policy from now on."""
    directory.change("acme", edits.set_policies(Policies(0, f"{BASE} {rule}", minutes=0, **fields)))
    forget_entries()


def refused_by(step: int) -> str:
    error = error_of(entry(step))
    return str(error.details["policy"]) if error.code == "POLICY_REFUSED" else error.code


def test_an_argument_is_decided_once_its_reference_is_known(write: Write) -> None:
    hold(
        '@id("p") forbid (principal, action == Action::"rag.get_doc", resource)'
        ' when { context.args.path like "secret*" };'
    )
    get = ("get_doc", {"path": "${step0.raw[0]}"}, {0})
    write(("list_tags", {}, set()), get, ("list_tags", {}, {1}))
    has_settled(0, b'["secret/a.md"]')
    enter(step=1)
    assert refused_by(1) == "p"
    enter(step=2)
    assert outcome(2) == "skipped"


def test_a_policy_that_changes_holds_for_the_steps_that_have_not_begun(write: Write) -> None:
    write(("list_tags", {}, set()), ("list_tags", {}, {0}))
    enter()
    hold('@id("none") forbid (principal, action == Action::"rag.list_tags", resource);')
    enter(step=1)
    assert (outcome(0), refused_by(1)) == ("succeeded", "none")


def test_on_error_holds_for_a_refused_step(write: Write) -> None:
    hold('@id("none") forbid (principal, action == Action::"rag.list_docs", resource);')
    write(("list_docs", {}, set()), ("list_tags", {}, {0}), lenient=frozenset({0}), step0={"on_error": "continue"})
    enter()
    enter(step=1)
    assert (refused_by(0), outcome(1)) == ("none", "succeeded")


def test_what_reaches_a_step_and_what_succeeded_before_it_is_read_from_the_ledger(write: Write) -> None:
    condition = 'when { context.labels.contains("customer") }'
    flow = f'@id("flow") forbid (principal, action == Action::"rag.search_docs", resource) {condition};'
    hold(flow, labels=("rag.get_doc=customer",))
    steps = (
        ("get_doc", {"path": "a.md"}, set()),
        ("list_docs", {"tag": "${step0.raw.tag}"}, {0}),
        ("search_docs", {"query": "${step1.raw[0]}"}, {1}),
        ("search_docs", {"query": "free"}, {1}),
    )
    write(*steps)
    has_settled(0, b'{"tag": "x"}')
    has_settled(1, b'["y"]')
    enter(step=2)
    enter(step=3)
    assert (refused_by(2), outcome(3)) == ("flow", "succeeded")


def test_a_number_that_untrusted_data_gives_is_permitted_as_its_plan_said(write: Write) -> None:
    hold(
        '@id("flow") forbid (principal, action == Action::"rag.list_docs", resource)'
        ' when { context.labels.contains("untrusted") };',
        labels=("rag.get_doc=untrusted",),
    )
    write(
        ("get_doc", {"path": "a.md"}, set()),
        ("list_docs", {"limit": "${step0.raw.limit}"}, {0}),
        ("list_docs", {"tag": "${step0.raw.tag}"}, {0}),
    )
    has_settled(0, b'{"limit": 5, "tag": "x"}')
    enter(step=1)
    enter(step=2)
    assert (outcome(1), refused_by(2)) == ("succeeded", "flow")


@pytest.mark.parametrize("status", ["succeeded", "failed"])
def test_a_step_before_counts_only_if_it_succeeded(write: Write, status: Any) -> None:
    hold(
        '@id("first") forbid (principal, action == Action::"rag.list_tags", resource)'
        ' unless { context.before.contains(Action::"rag.list_docs") };'
    )
    write(("list_docs", {}, set()), ("list_tags", {}, {0}), lenient=frozenset({0}))
    has_settled(0, b"[]", status)
    enter(step=1)
    assert outcome(1) == status
    assert status == "succeeded" or refused_by(1) == "first"
