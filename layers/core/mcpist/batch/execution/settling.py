"""Settling: each step of a batch happens once, however often it is entered.

A step is entered, ends (its item has an ending), and settles (the header has its place in the order). A step with
`each` is entered, runs once for each element of its list, is gathered, and then ends and settles. An element is entered
and ends like a step; an invocation enters a group of them.
"""

from dataclasses import replace

from mcpist.batch.execution.advancing import advance, claim_state, lost_ending
from mcpist.batch.execution.attempts import AttemptResult, StepAttempt, StepBusy
from mcpist.batch.execution.groups import advance_group, groups_of
from mcpist.batch.execution.step_work import ToolStepWork
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Ending, Entry, Header


def enter(attempt: StepAttempt, work: ToolStepWork) -> AttemptResult:
    """Bring a step or some elements as far as possible now.

    Nothing happens to a step that is entered before its needs have settled: their settling opens it.
    """
    if attempt.elements:
        return _enter_elements(attempt, work)
    head, entry, _ = ledger.load_elements(attempt.pk, attempt.step, ())
    work.on_enter(head)
    if attempt.step in head.seq:
        return AttemptResult(head, replayed=True)
    if not head.is_ready(attempt.step):
        return AttemptResult(head)
    if entry.status is None and not entry.map_items and not attempt.gather:
        if _needs_continuation(attempt, head, entry):
            return AttemptResult(head, must_continue=True)
        entry = advance(attempt, head, entry, work)
    if entry.status is None and entry.map_items:
        return _enter_map(attempt, head, entry)
    return _settle(attempt, head, entry)


def _settle(attempt: StepAttempt, head: Header, entry: Entry) -> AttemptResult:
    """Settle a step that has ended; an attempt to gather a step that has not begun changes nothing."""
    if entry.status is not None:
        return AttemptResult(transitions.settle(head.pk, entry.index, entry.status))
    if attempt.gather and not entry.map_items:
        return AttemptResult(head)
    raise StepBusy(f"step {entry.index}")


def _enter_map(attempt: StepAttempt, head: Header, entry: Entry) -> AttemptResult:
    """Return the elements that must run; once they have, end the step and settle it."""
    gathering = ledger.gather(head, entry)
    pending = gathering.pending
    if pending and _needs_continuation(attempt, head, entry):
        return AttemptResult(head, must_continue=True)
    if not (attempt.gather or attempt.lost):
        return AttemptResult(head, pending_groups=groups_of(attempt, pending))
    # Lost elements and those of a stopped batch are ended first.
    if ended := [one for element in pending if (one := _end_element(attempt, head, element)).ending]:
        transitions.finish_all(head, ended)
        gathering = ledger.gather(head, entry)
    left = [element for element in gathering.pending if claim_state(attempt, element) != "busy"]
    if left and attempt.groups and not attempt.lost:
        return AttemptResult(head, pending_groups=groups_of(attempt, left))
    return _settle(attempt, head, ledger.finish_gathered(head, entry, gathering))


def _enter_elements(attempt: StepAttempt, work: ToolStepWork) -> AttemptResult:
    """Bring a group of elements to their ends; nothing happens for numbers that the step's list does not have.

    Those for which the time is over are left to the gathering.
    """
    head, _, elements = ledger.load_elements(attempt.pk, attempt.step, attempt.elements)
    work.on_enter(head)
    pending = [element for element in elements if element.status is None]
    if attempt.step in head.seq or not pending:
        return AttemptResult(head, replayed=True)
    now = [element for element in pending if not _needs_continuation(attempt, head, element)]
    advance_group(attempt, head, now, work)
    return AttemptResult(head, must_continue=len(now) < len(pending))


def _needs_continuation(attempt: StepAttempt, head: Header, entry: Entry) -> bool:
    """Return whether work that may still run must run in a later execution; ending without work is always possible."""
    if not attempt.is_execution_expiring or head.is_stopped:
        return False
    ends_without_work = attempt.lost or (not entry.reads and claim_state(attempt, entry) == "dead")
    return not (entry.claim and ends_without_work)


def _end_element(attempt: StepAttempt, head: Header, element: Entry) -> Entry:
    """Return an element as it ends that no sandbox runs any more after its Map; a live claim is another execution's."""
    if element.claim and element.claim.is_live:
        return element
    if attempt.lost:
        return replace(element, ending=lost_ending(attempt, element))
    if head.is_stopped and not (element.claim and not element.reads):
        return replace(element, ending=Ending("cancelled"))
    return element
