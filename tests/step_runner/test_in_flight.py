"""Steps count as requests in flight of their organization, and wait where it has too many."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from mcpist.aws.table import ledger_table
from mcpist.batch.execution.attempts import StepWaits
from mcpist.batch.ledger import ledger
from mcpist.memory import forget_entries
from mcpist.people import directory
from mcpist.people.in_flight import InFlight
from mcpist.settings import settings
from tests.step_runner.ledger_batch import PK, Write, elements, enter, has_settled, outcome


@pytest.fixture(autouse=True)
def limits(organization: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert organization == "acme"
    monkeypatch.setenv("USER_CONCURRENCY", "5")
    monkeypatch.setenv("ORGANIZATION_CONCURRENCY", "2")
    settings.cache_clear()


def leases() -> list[str]:
    items = ledger_table().query("acme#quota", "in_flight")
    return [name for item in items for name in item if name.startswith(("lease_", "step_"))]


def test_a_step_waits_unclaimed_while_its_organization_has_no_place(write: Write) -> None:
    head = write(("list_tags", {}, set()), effect="writes")
    caller = directory.identify(head.subject, organization=head.organization)
    with ExitStack() as others:
        for other, prefix in (("ben", "lease_"), ("cleo", "step_")):
            others.enter_context(InFlight(prefix=prefix).counted(replace(caller, user=other)))
        with pytest.raises(StepWaits):
            enter()
        assert len(leases()) == 2, "its own is gone"
    assert ledger.load_elements(PK, 0, ())[1].claim is None, "a write that was claimed would be in doubt"
    forget_entries()  # a refusal is remembered for a second
    assert enter(request="request-2", retry=1) == {"batch": PK, "go": {}}
    assert outcome() == "succeeded"


def test_a_step_beside_others_releases_its_place(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORGANIZATION_CONCURRENCY", "9")
    settings.cache_clear()
    head = write(("list_tags", {}, set()))
    with InFlight(prefix="step_").counted(directory.identify(head.subject, organization=head.organization)):
        (other,) = leases()
        enter()
        assert leases() == [other]
    assert outcome() == "succeeded"


def test_a_group_of_elements_takes_one_place(write: Write, aws: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORGANIZATION_CONCURRENCY", "9")
    settings.cache_clear()
    each = {"each": "${step0.raw}"}
    head = write(("list_docs", {}, set()), ("search_docs", {"query": "${each}"}, {0}), step1=each)
    has_settled(0, b'["a", "b", "c"]')
    enter(step=1, groups=True)
    with InFlight(prefix="step_").counted(directory.identify(head.subject, organization=head.organization)):
        aws.clear()
        enter("element", element=[0, 1, 2])
    assert aws.count("UpdateItem") == 3, "one begins, one claims and one ends"
    assert [element.status for element in elements(1)] == ["succeeded"] * 3


def test_the_steps_of_a_quiet_user_ask_the_store_once_a_minute(write: Write, aws: list[str]) -> None:
    write(*(("list_tags", {}, set()) for _ in range(3)))
    sent = []
    for step in range(3):
        aws.clear()
        enter(step=step)
        sent.append(aws.count("UpdateItem"))
    assert sent == [sent[1] + 1, sent[1], sent[1] + 1]  # the last one ends the batch
