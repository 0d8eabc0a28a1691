"""With any fault at any moment every step and element happens once, and the batch ends in a consistent state."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import batched, chain, count, product
from typing import Any, Literal

import pytest
from botocore.exceptions import EndpointConnectionError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpist.aws.clients import client
from mcpist.aws.table import Table
from mcpist.batch.execution.attempts import AttemptResult, StepAttempt, StepBusy
from mcpist.batch.execution.settling import enter
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.items import sort_key
from mcpist.batch.ledger.records import Entry, Header
from mcpist.caller import Subject
from mcpist.errors import McpistError, StoreUnavailable, Timeout
from mcpist.running.run import ToolResult
from mcpist.settings import settings as stack
from tests.examples import examples, has_slow_tests

type Happening = Literal["killed", "outage", "delivered twice", "executed twice", "cancelled"]

ATTEMPTS = 5
BATCHES = count()


class Killed(BaseException):
    """The sandbox is killed at this moment."""


@dataclass(frozen=True)
class Shape:
    """The needs of each step, the steps that write, and the number of elements of steps with `each`."""

    needs: tuple[frozenset[int], ...]
    writes: frozenset[int] = frozenset()
    map_steps: Mapping[int, int] = field(default_factory=dict)
    continue_on_error: frozenset[int] = frozenset()


NONE: frozenset[int] = frozenset()
SHAPES = [
    Shape((NONE,), writes=frozenset({0})),
    Shape((NONE, frozenset({0})), writes=frozenset({1})),
    Shape((NONE, NONE, frozenset({0, 1})), writes=frozenset({0, 2})),
    Shape((NONE, frozenset({0}), frozenset({1})), writes=frozenset({1}), map_steps={1: 2}),
    Shape(
        (NONE, frozenset({0}), frozenset({1})),
        writes=frozenset({1}),
        map_steps={1: 3},
        continue_on_error=frozenset({1}),
    ),
    Shape((NONE, NONE, frozenset({0, 1}), frozenset({2})), writes=frozenset({1, 3}), map_steps={0: 1, 2: 2}),
]


class World:
    """A batch, the executions that run it one task after the other, and the faults that happen to them.

    The machine takes groups of so many elements; with 0 it is one of an older release.
    """

    def __init__(self, shape: Shape, happenings: Mapping[int, Happening], group: int = 0) -> None:
        self.shape = shape
        self.group = group
        self.happenings = happenings
        self.moments = count()
        self.requests = count()
        self.ran = Counter[tuple[int, int | None]]()
        self.alive: list[str] = []
        self.now: StepAttempt | None = None
        self.head = self._write()

    def _write(self) -> Header:
        batch, now = f"b_{next(BATCHES)}", time.time()
        head = Header(
            organization="acme",
            batch=batch,
            user="uma",
            subject=Subject("", "uma"),
            roles=(),
            warrant="",
            ids=tuple(f"s{step}" for step in range(len(self.shape.needs))),
            needs=self.shape.needs,
            started_at=now,
            closes_at=now + 300,
            expires_at=now + 86_400,
            map_steps=frozenset(self.shape.map_steps),
            continue_on_error=self.shape.continue_on_error,
        )
        each: dict[int, Any] = {step: {"each": "${list}", "each_limit": 100} for step in self.shape.map_steps}
        effects = ["writes" if step in self.shape.writes else "reads" for step in range(len(self.shape.needs))]
        entries = [
            Entry(
                step,
                Step(line=1, id=f"s{step}", has_explicit_id=True, module="m", tool="t", **each.get(step, {})),
                effect,
            )
            for step, effect in enumerate(effects)
        ]
        ledger.write(head, entries)
        return head

    # -- the work -----------------------------------------------------------------------------------------

    def on_enter(self, head: Header) -> None:
        """Ignore the header."""

    def evaluate_when(self, head: Header, entry: Entry) -> bool:
        assert head.is_ready(entry.index)
        return True

    def evaluate_each(self, head: Header, entry: Entry) -> list[Any]:
        assert head.is_ready(entry.index)
        return ["element"] * self.shape.map_steps[entry.index]

    def reads_at_once(self, head: Header, entry: Entry) -> int:
        assert head.is_ready(entry.index)
        return 4

    def prepare(self, head: Header, entry: Entry) -> Callable[[], ToolResult]:
        del head

        def run_tool() -> ToolResult:
            self.moment(outages=False)
            self.ran[entry.index, entry.element] += 1
            self.moment(outages=False)
            return ToolResult(entry.element)

        return run_tool

    # -- what happens -------------------------------------------------------------------------------------

    @contextmanager
    def happening(self) -> Iterator[None]:
        """Let faults happen before and after every write to the ledger while this is open."""

        def hook(**_: Any) -> None:
            self.moment()

        events = client("dynamodb").meta.events
        writes = ("UpdateItem", "TransactWriteItems")
        names = [f"{moment}-call.dynamodb.{write}" for write in writes for moment in ("before", "after")]
        for name in names:
            events.register(name, hook)
        try:
            yield
        finally:
            for name in names:
                events.unregister(name, hook)

    def moment(self, *, outages: bool = True) -> None:
        """Let a fault happen to the sandbox that runs now; a service has no outages of the store."""
        if self.now is None:
            return
        match self.happenings.get(next(self.moments)):
            case "killed":
                raise Killed
            case "outage" if outages:
                raise EndpointConnectionError(endpoint_url="ledger")
            case "delivered twice":
                self._aside(lambda attempt: self._enter(replace(attempt, request_id=self._request())))
            case "cancelled":
                self._aside(lambda _: ledger.cancel(self.head.pk))
            case "executed twice":
                self._aside(lambda _: self.execute("twin"))

    def _aside(self, work: Callable[[StepAttempt], Any]) -> None:
        """Do something else completely while the sandbox that runs now is paused."""
        interrupted, self.now = self.now, None
        assert interrupted
        try:
            work(interrupted)
        finally:
            self.now = interrupted

    def _enter(self, attempt: StepAttempt) -> AttemptResult | None:
        """Return the result of an invocation; None where it ends without one."""
        self.alive.append(attempt.request_id)
        try:
            return enter(attempt, self)
        except (StepBusy, StoreUnavailable, Killed):
            return None
        finally:
            self.alive.remove(attempt.request_id)

    def _request(self) -> str:
        return f"request-{next(self.requests)}"

    # -- the machine --------------------------------------------------------------------------------------

    def execute(self, execution: str) -> None:
        """Run the batch as a machine does: each step after its needs, its elements, and their gathering."""
        for step in range(len(self.shape.needs)):
            result = self._task(execution, step, groups=self.group > 0)
            first = result and result.pending_groups
            while result and result.pending_groups is not None:
                size = self.group if result.pending_groups is first else 1
                for group in batched(chain(*result.pending_groups), size or 1, strict=False):
                    self._task(execution, step, elements=group)
                result = self._task(execution, step, gather=True, groups=self.group > 0)

    def _task(self, execution: str, step: int, **place: Any) -> AttemptResult | None:
        """Run one Task with its Retry and its Catch; between two attempts the claims of dead sandboxes end."""
        outermost = self.now is None and not self.alive
        attempts = ATTEMPTS if outermost else 1
        for retry in range(2 * attempts):
            lost = retry >= attempts
            attempt = StepAttempt(self.head.pk, step, execution, retry, self._request(), 60, lost=lost, **place)
            self.now = attempt if outermost else None
            result = self._enter(attempt)
            self.now = None
            if result:
                return result
            self._bury()
        return None

    def _bury(self) -> None:
        for entry in ledger.get_entries(self.head.pk):
            for item in (entry, *ledger.get_elements(self.head.pk, entry)):
                if item.claim and item.status is None and item.claim.owner not in self.alive:
                    claim = {"owner": item.claim.owner, "execution": item.claim.execution, "retry": 0, "until": 0}
                    table = Table(stack().ledger_table, "ledger")
                    table.update(self.head.pk, sort_key(item), "SET #claim = :dead", values={":dead": claim})


def check(world: World) -> None:
    """Check that the batch is done and that its state is consistent with what ran."""
    head = ledger.get_header(world.head.pk)
    assert head.done
    assert sorted(head.seq.values()) == list(range(len(head.ids)))
    for step, needs in enumerate(head.needs):
        assert all(head.seq[need] < head.seq[step] for need in needs)
    for entry in ledger.get_entries(head.pk):
        assert head.outcome[entry.index] == entry.status
        elements = ledger.get_elements(head.pk, entry)
        for item in elements if entry.map_items else [entry]:
            check_one(world, item)
        if entry.map_items and entry.result:
            result = [item.element if item.status == "succeeded" else None for item in elements]
            assert ledger.load_json(head, entry.result) == result
    opened = Counter(step for before in range(len(head.ids)) for step in head.opened_by(before))
    assert opened == Counter({step: 1 for step, needs in enumerate(head.needs) if needs})


def check_one(world: World, item: Entry) -> None:
    """Check that the ending of a step or an element is consistent with what ran."""
    times = world.ran[item.index, item.element]
    match item.effect, item.status:
        case "writes", "succeeded":
            assert times == 1
        case "writes", "unknown":
            assert times <= 1
        case "reads", "succeeded":
            assert times >= 1
        case _, "skipped":
            assert times == 0
        case other:
            pytest.fail(f"a step ended as {other} without a reason")


def moments(count: int) -> range:
    """Return each of so many moments, or every third of them for the quick tests."""
    return range(0, count, 1 if has_slow_tests() else 3)


HAPPENINGS = st.dictionaries(
    st.integers(0, 40),
    st.sampled_from(["killed", "killed", "outage", "delivered twice", "executed twice"]),
    max_size=3,
)


@pytest.mark.usefixtures("aws")
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(shape=st.sampled_from(SHAPES), happenings=HAPPENINGS, group=st.integers(0, 3))
def test_every_step_happens_once_with_any_fault_at_any_moment(
    shape: Shape, happenings: dict[int, Happening], group: int
) -> None:
    world = World(shape, happenings, group)
    with world.happening():
        world.execute("first")
    check(world)
    before = dict(world.ran), ledger.get_header(world.head.pk)
    world.execute("again")
    assert (dict(world.ran), ledger.get_header(world.head.pk)) == before


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("happening", ["killed", "outage", "delivered twice", "executed twice"])
def test_a_write_for_an_element_happens_once_with_any_fault_at_each_moment(happening: Happening) -> None:
    for moment in moments(14):
        world = World(Shape((NONE,), writes=frozenset({0}), map_steps={0: 1}), {moment: happening})
        with world.happening():
            world.execute("first")
        check(world)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("happening", ["killed", "outage", "delivered twice", "executed twice"])
@pytest.mark.parametrize("effect", ["reads", "writes"])
def test_a_group_of_elements_ends_each_once_with_any_fault_at_each_moment(effect: str, happening: Happening) -> None:
    writes = frozenset({0}) if effect == "writes" else NONE
    for moment in moments(18):
        world = World(Shape((NONE,), writes=writes, map_steps={0: 3}), {moment: happening}, group=3)
        with world.happening():
            world.execute("first")
        check(world)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("effect", ["reads", "writes"])
def test_an_element_that_kills_its_sandbox_each_time_keeps_no_other_of_its_group_from_ending(effect: str) -> None:
    class Deadly(World):
        """A world in which one element kills each sandbox."""

        def prepare(self, head: Header, entry: Entry) -> Callable[[], ToolResult]:
            run_tool = super().prepare(head, entry)

            def run() -> ToolResult:
                if entry.element == 1:
                    raise Killed
                return run_tool()

            return run

    writes = frozenset({0}) if effect == "writes" else NONE
    world = Deadly(Shape((NONE,), writes=writes, map_steps={0: 4}), {}, group=4)
    world.execute("first")
    found = ledger.get_elements(world.head.pk, ledger.get_entries(world.head.pk)[0])
    deadly = "unknown" if writes else "failed"
    assert [one.status for one in found] == ["succeeded", deadly, "succeeded", "succeeded"]
    assert not writes or set(world.ran.values()) == {1}


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("effect", ["reads", "writes"])
def test_an_element_whose_work_cannot_be_prepared_keeps_no_other_of_its_group_from_ending(effect: str) -> None:
    class Unprepared(World):
        """A world in which the sandbox is killed before the work of one element begins."""

        def prepare(self, head: Header, entry: Entry) -> Callable[[], ToolResult]:
            if entry.element == 1:
                raise Killed
            return super().prepare(head, entry)

    writes = frozenset({0}) if effect == "writes" else NONE
    world = Unprepared(Shape((NONE,), writes=writes, map_steps={0: 4}), {}, group=4)
    world.execute("first")
    found = ledger.get_elements(world.head.pk, ledger.get_entries(world.head.pk)[0])
    assert [one.status for one in found] == ["succeeded", "failed", "succeeded", "succeeded"]
    assert set(world.ran.values()) == {1}


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("defect", [StoreUnavailable(store="shop"), KeyError("defect")])
def test_a_read_that_must_be_tried_again_keeps_no_other_of_its_group_from_ending(defect: Exception) -> None:
    class Faulty(World):
        """A world in which one element fails once."""

        def prepare(self, head: Header, entry: Entry) -> Callable[[], ToolResult]:
            run_tool = super().prepare(head, entry)

            def run() -> ToolResult:
                result = run_tool()
                if entry.element == 1 and self.ran[0, 1] == 1:
                    raise defect
                return result

            return run

    world = Faulty(Shape((NONE,), map_steps={0: 3}), {}, group=3)
    attempt = StepAttempt(world.head.pk, 0, "first", 0, "request", 60, groups=True)
    enter(attempt, world)
    with pytest.raises(McpistError):
        enter(replace(attempt, elements=(0, 1, 2)), world)
    assert world.ran == {(0, 0): 1, (0, 1): 1, (0, 2): 1}
    world.execute("first")
    check(world)
    assert world.ran == {(0, 0): 1, (0, 1): 2, (0, 2): 1}


@pytest.mark.usefixtures("aws")
def test_a_batch_that_is_cancelled_at_any_moment_ends_in_a_consistent_state() -> None:
    shape = Shape((NONE, frozenset({0}), frozenset({1})), writes=frozenset({1}), map_steps={1: 2})
    for moment, group in product(moments(16), (0, 2)):
        world = World(shape, {moment: "cancelled"}, group)
        with world.happening():
            world.execute("first")
        head = ledger.get_header(world.head.pk)
        assert head.done
        assert all(times == 1 for (step, _), times in world.ran.items() if step == 1)
        for item in ledger.get_elements(head.pk, ledger.get_entries(head.pk, [1])[0]):
            assert (item.status == "succeeded") == (world.ran[1, item.element] == 1)


class Returning(World):
    """A world whose one step returns another result."""

    def __init__(self, result: Any, *, writes: bool = False) -> None:
        super().__init__(Shape((NONE,), writes=frozenset({0} if writes else ())), {})
        self.result = result

    def prepare(self, head: Header, entry: Entry) -> Callable[[], ToolResult]:
        del head, entry
        return lambda: ToolResult(self.result)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("result", [object, lambda: deep(100_000)])
def test_a_result_that_is_no_json_fails_a_read_and_leaves_a_write_in_doubt(result: Callable[[], Any]) -> None:
    for writes, status in ((False, "failed"), (True, "unknown")):
        world = Returning(result(), writes=writes)
        world.execute("first")
        assert ledger.get_header(world.head.pk).outcome == {0: status}


class Failing(World):
    """A world whose one step fails with this error."""

    def __init__(self, error: McpistError, *, writes: bool) -> None:
        super().__init__(Shape((NONE,), writes=frozenset({0} if writes else ())), {})
        self.error = error

    def prepare(self, head: Header, entry: Entry) -> Callable[[], ToolResult]:
        del head, entry

        def run() -> ToolResult:
            raise self.error

        return run


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("writes", "happened", "status"), [(True, True, "unknown"), (True, False, "failed"), (False, True, "failed")]
)
def test_a_write_whose_error_says_that_it_may_have_happened_is_in_doubt(
    writes: bool, happened: bool, status: str
) -> None:
    details = {"may_have_happened": True} if happened else {}
    world = Failing(Timeout(service="shop", seconds=1, **details), writes=writes)
    world.execute("first")
    assert ledger.get_header(world.head.pk).outcome == {0: status}
    (entry,) = ledger.get_entries(world.head.pk)
    assert (entry.error or {})["type"] == "Timeout"


def deep(depth: int) -> Any:
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.usefixtures("aws")
def test_a_text_that_is_no_unicode_is_stored_with_question_marks() -> None:
    world = Returning(json.loads('"a\\ud800"'))
    world.execute("first")
    (entry,) = ledger.get_entries(world.head.pk)
    assert ledger.load_json(world.head, entry.result) == "a?"
    assert transitions.settle(world.head.pk, 0, "failed").outcome == {0: "succeeded"}
