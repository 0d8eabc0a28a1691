"""Groups: neighbouring elements of a step, which one invocation runs.

The elements of a group that write run one after the other, each as a step does: a sandbox that is killed leaves one of
them in doubt. Those that read run beside each other. The claim of the first one stands for all, and their endings are
stored together, with their audit rows; what is lost before that is read again. After a loss the elements run one after
the other, and last those whose sandbox was lost. What a group leaves, since its time was over or it was lost for good,
runs in groups of one. So no element keeps another from ending.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import batched
from math import ceil
from threading import Lock

from mcpist.audit import record as audit
from mcpist.aws.attributes import Item
from mcpist.batch.execution.advancing import Run, advance, claim_state, is_mine, prepare_read, run_read
from mcpist.batch.execution.attempts import SETTLE_RESERVE_SECONDS, StepAttempt, StepBusy
from mcpist.batch.execution.step_work import ToolStepWork
from mcpist.batch.ledger import transitions
from mcpist.batch.ledger.records import Ending, Entry, Header
from mcpist.errors import McpistError
from mcpist.telemetry.door import typed_errors
from mcpist.telemetry.invocation import beside

MAX_GROUP_ELEMENTS = 25
# Elements of a short list are divided among so many groups, since each may be slow.
MIN_GROUPS = 20
# With less of the invocation left no further element begins of a step without a `timeout`. A request takes up to 30 s;
# a write has nearly as long as one that is alone, since it would be in doubt.
MIN_READ_SECONDS, MIN_WRITE_SECONDS = 30.0, 45.0


def groups_of(attempt: StepAttempt, pending: Sequence[Entry]) -> list[tuple[int, ...]]:
    """Divide elements into groups; what a gathering finds left runs one by one, and all does for an older machine."""
    size = min(MAX_GROUP_ELEMENTS, ceil(len(pending) / MIN_GROUPS)) if attempt.groups and not attempt.gather else 1
    numbers = [element.element for element in pending if element.element is not None]
    return list(batched(numbers, max(size, 1), strict=False))


def advance_group(attempt: StepAttempt, head: Header, elements: Sequence[Entry], work: ToolStepWork) -> None:
    """Bring elements that have not ended as far as this invocation's time allows; StepBusy where another runs any.

    Of a lost group only writes end that were begun.
    """
    is_group = len(attempt.elements) > 1
    states = {element.element: claim_state(attempt, element) for element in elements}
    if is_group and attempt.lost:
        elements = [one for one in elements if states[one.element] == "dead" and not one.reads]
    elif is_group and "busy" in states.values():
        raise StepBusy(f"step {attempt.step}, elements from {attempt.elements[0]}")
    elif len(elements) > 1 and all(one.reads and not one.claim for one in elements) and not head.is_stopped:
        _read_together(attempt, head, elements, work)
        return
    for place, element in enumerate(sorted(elements, key=lambda one: one.claim is not None)):
        if place and not _has_time(attempt, element):
            return
        if advance(attempt, head, element, work).status is None:
            raise StepBusy(f"step {attempt.step}, element {element.element}")


def _has_time(attempt: StepAttempt, element: Entry) -> bool:
    """Whether an element may begin that is not the invocation's first."""
    default = MIN_READ_SECONDS if element.reads else MIN_WRITE_SECONDS
    return attempt.left_seconds >= (element.step.timeout or default) + SETTLE_RESERVE_SECONDS


def _read_together(attempt: StepAttempt, head: Header, elements: Sequence[Entry], work: ToolStepWork) -> None:
    """Run reads that nobody claims beside each other, and store together how they ended.

    An error that the machine may retry, or a defect, is raised at the end: it keeps no other read from ending.
    """
    lanes = _Lanes(attempt, head, elements, work)
    if first := lanes.next():
        claimed = transitions.claim(head, first[0], attempt.claim())
        if not is_mine(attempt, claimed):
            raise StepBusy(f"step {attempt.step}, element {claimed.element}")
        others = min(len(elements), work.reads_at_once(head, claimed)) - 1
        waits = [beside(lanes.run) for _ in range(others)]
        lanes.run((claimed, first[1]))
        for wait in waits:
            wait()
    have_ended = transitions.finish_all(head, lanes.ended, lanes.rows)
    if lanes.errors:
        raise lanes.errors[0]
    if not have_ended:
        raise StepBusy(f"step {attempt.step}, elements from {attempt.elements[0]}")


class _Lanes:
    """Reads that this thread and others run beside each other, and what came of them."""

    def __init__(self, attempt: StepAttempt, head: Header, elements: Sequence[Entry], work: ToolStepWork) -> None:
        self.ended: list[Entry] = []
        self.rows: list[Item] = []
        self.errors: list[McpistError] = []
        self._attempt, self._head, self._work = attempt, head, work
        self._elements = iter(elements)
        self._preparing = Lock()

    def next(self) -> tuple[Entry, Run] | None:
        """Return the next read, which is prepared only now: its user may have lost a right meanwhile."""
        with self._preparing:
            for element in self._elements:
                run = prepare_read(self._attempt, self._head, element, self._work)
                if not isinstance(run, Ending):
                    return element, run
                self.ended.append(replace(element, ending=run))
        return None

    def run(self, read: tuple[Entry, Run] | None = None) -> None:
        """Run a read, and further ones while there are any and there is time; each thread does so."""
        try:
            read = read or self.next()
            while read:
                self._run(*read)
                read = self.next() if _has_time(self._attempt, read[0]) else None
        except McpistError as error:
            self.errors.append(error)

    def _run(self, element: Entry, run: Run) -> None:
        with audit.collect_rows() as rows:
            try:
                with typed_errors():
                    self.ended.append(run_read(self._attempt, self._head, element, run))
            except McpistError as error:
                self.errors.append(error)
        self.rows += rows
