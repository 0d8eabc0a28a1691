"""The work of one step: its user, its arguments and its tool."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Self

from mcpist.batch.execution.attempts import SETTLE_RESERVE_SECONDS, StepAttempt, StepWaits
from mcpist.batch.execution.judging import GetEntries, place_of
from mcpist.batch.language.references import EACH, EachElement, NoResult, StepResult, resolve
from mcpist.batch.language.steps import Step, holds, is_about_element, list_of
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header, MapItems
from mcpist.caller import Caller, Role
from mcpist.errors import CallerError, InvalidArguments, NotAList, TooManyInFlight
from mcpist.files.answers import content_of, store_content
from mcpist.memory import Memory
from mcpist.people.in_flight import steps_in_flight
from mcpist.render.shows import Shows
from mcpist.running import gate
from mcpist.running.gate import ToolResult, ToolUse
from mcpist.tools.access.permissions import Permissions

MIN_TOOL_SECONDS = 1.0
MAX_READS_AT_ONCE = 4
MAX_CACHED_LIST_BYTES = 8_000_000  # of its JSON; as values it takes several times that
type FindShows = Callable[[Header, str, str], Shows]
"""Returns for a batch's user the fields of a tool's answers."""

# The lists that steps run over, by batch and step: an element reads the whole list only where its sandbox has not yet.
_lists: Memory[tuple[str, int], list[Any]] = Memory(seconds=300, max_entries=2)


class Sources:
    """The sources of one step and its elements by their names, each read from the ledger on first use."""

    def __init__(self, head: Header, entry: Entry, find_shows: FindShows, get_entries: GetEntries) -> None:
        self.entry = entry
        """The step, or the element that `${each}` means now."""
        self._head = head
        self._find_shows = find_shows
        self._get_entries = get_entries
        self._indexes = {head.ids[need]: need for need in head.needs[entry.index]}
        self._results: dict[str, StepResult | NoResult] = {}

    def __call__(self, name: str) -> StepResult | EachElement | NoResult:
        """Return the source of a name, which is `each` or the id of a step; what it holds is not to be changed."""
        if name == EACH:
            return self._read_element()
        if name not in self._results:
            self._results[name] = self._read_result(self._indexes[name])
        return self._results[name]

    def _read_element(self) -> EachElement:
        map_items, element = self.entry.map_items, self.entry.element
        if map_items is None or element is None:
            raise LookupError("the step has no element")
        return EachElement(self._list(map_items)[element])

    def _list(self, map_items: MapItems) -> list[Any]:
        """Return the list that the step runs over; once stored it never changes."""
        key = self._head.pk, self.entry.index
        if (known := _lists.get(key)) is not None:
            return known
        content = ledger.load_content(self._head, map_items.values)
        values: list[Any] = json.loads(content)
        return _lists.put(key, values) if len(content) <= MAX_CACHED_LIST_BYTES else values

    def _read_result(self, step: int) -> StepResult | NoResult:
        """Return the result of a settled step; NoResult for one that failed, which `on_error` allows."""
        (source,) = self._get_entries(self._head.pk, [step])
        if source.result is None:
            return NoResult()
        shows = self._find_shows(self._head, source.step.module, source.step.tool)
        raw = ledger.load_json(self._head, source.result)
        return step_result(self._head.organization, self._head.user, source.step, raw, shows, source.statuses)


def step_result(
    organization: str,
    user: str,
    step: Step,
    raw: Any,
    shows: Shows,
    statuses: Sequence[Mapping[str, Any]] | None = None,
) -> StepResult:
    """Return a step's result as references see it; a file that one asks for becomes the user's."""
    elements = None if statuses is None else list(statuses)

    def make_file() -> Mapping[str, Any]:
        made = content_of(raw, shows, step.tool, each=elements is not None, raw_output=step.raw_output)
        return store_content(organization, user, made)

    return StepResult(raw, shows, make_file, elements)


class ToolStepWork:
    """The work of the step or the elements that one invocation enters; `on_enter` receives the batch's header.

    Of a batch that is not stored yet, `unsaved` has the steps: they run in a request, which has a place of its own.
    """

    def __init__(
        self,
        attempt: StepAttempt,
        permissions_of: Callable[[Header], Permissions],
        find_shows: FindShows,
        on_enter: Callable[[Header], None] = lambda _: None,
        unsaved: Mapping[int, Entry] | None = None,
    ) -> None:
        self.on_enter = on_enter
        self._permissions_of, self._find_shows = permissions_of, find_shows
        self._takes_place = unsaved is None
        self._get_entries = ledger.get_entries if unsaved is None else partial(_find_entries, unsaved)
        self._request_id = attempt.request_id
        self._deadline = time.monotonic() + attempt.remaining_seconds - SETTLE_RESERVE_SECONDS
        self._sources: Sources | None = None
        self._places = ExitStack()

    def __enter__(self) -> Self:
        """Hold, while the context lasts, the place that the work takes of what its organization may run at once."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release it."""
        self._places.close()

    def evaluate_when(self, head: Header, entry: Entry) -> bool:
        """Return whether its `when` holds, which is evaluated for each element if it mentions `${each}`, else once."""
        if entry.step.when is None:
            return True
        per_element = is_about_element(entry.step.when)
        if entry.step.each and per_element != (entry.element is not None):
            return True
        return holds(entry.step.when, self._load_sources(head, entry))

    def evaluate_each(self, head: Header, entry: Entry) -> list[Any]:
        """Return the value of its `each`, which must be a list."""
        with _locate_errors(entry):
            values = resolve(list_of(entry.step.each), self._load_sources(head, entry), "each")
            if not isinstance(values, list):
                raise NotAList(field="each", reference=entry.step.each, kind=_json_type(values))
        return values

    def reads_at_once(self, head: Header, entry: Entry) -> int:
        """Return how many elements threads may read beside each other: one in a store of ours or at an upstream."""
        module = self._permissions_of(head).catalogue.module(entry.step.module)
        return MAX_READS_AT_ONCE if module.host and module.upstream is None else 1

    def prepare(self, head: Header, entry: Entry) -> Callable[[], ToolResult]:
        """Return the call of its tool; permissions are checked again, since roles may have changed meanwhile."""
        step = entry.step
        begun = ToolUse(step.module, step.tool, {}, self._request_id, head.batch, step.id)
        with gate.refusals_audited(_starter(head), [begun]):
            permissions = self._permissions_of(head)
        with _locate_errors(entry):
            params = deepcopy(resolve(step.params, self._load_sources(head, entry)))
        place = place_of(head, entry, permissions, self._get_entries)
        use = replace(begun, arguments=params, options=head.options.applied_to(step.options), place=place)

        with _locate_errors(entry):  # what the batch's person agreed to, before it started
            admitted = gate.admit(permissions, use, replace(gate.CONFIRMED, shown=entry.shown, level=entry.agreed))
        # Once for all elements; reads beside each other would each fetch the account.
        if is_first := self._takes_place:
            self._take_place(permissions.caller)
            self._takes_place = False
        if admitted.tool.effect != "reads" or (is_first and entry.element is not None):
            admitted.prepare_account()

        def run() -> ToolResult:
            with _explain_values(step.params, params):
                return admitted.run(self._timeout_seconds(head, entry))

        return run

    def _take_place(self, caller: Caller) -> None:
        """Count the work as in flight; StepWaits where the organization has too much of it already."""
        try:
            self._places.enter_context(steps_in_flight.counted(caller))
        except TooManyInFlight as error:
            raise StepWaits(caller.organization) from error

    def _load_sources(self, head: Header, entry: Entry) -> Sources:
        """Return the values that `when`, `each` and params refer to; they stay the same during one invocation."""
        if self._sources is None:
            self._sources = Sources(head, entry, self._find_shows, self._get_entries)
        self._sources.entry = entry
        return self._sources

    def _timeout_seconds(self, head: Header, entry: Entry) -> float:
        """Return the step's timeout, limited by what is left of the invocation and of the batch."""
        left = min(self._deadline - time.monotonic(), head.closes_at - time.time())
        return max(MIN_TOOL_SECONDS, left if entry.step.timeout is None else min(left, entry.step.timeout))


@contextmanager
def _locate_errors(entry: Entry) -> Iterator[None]:
    """Add the line and id of the step to errors."""
    try:
        yield
    except CallerError as error:
        raise error.with_details(line=entry.step.line, id=entry.step.id) from None


@contextmanager
def _explain_values(written: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[None]:
    """Say of a refused argument that is no text what its reference stood for: `${find.items}` is a list."""
    try:
        yield
    except InvalidArguments as error:
        name = str(error.details["field"]).partition(".")[0]
        text, value = written.get(name), params.get(name)
        if isinstance(text, str) and "${" in text and not isinstance(value, str):
            error.with_details(problem=f"{error.details['problem']} ({text} is of type {_json_type(value)})")
        raise


def _find_entries(unsaved: Mapping[int, Entry], _pk: str, steps: Sequence[int]) -> list[Entry]:
    return [unsaved[step] for step in steps]


def _starter(head: Header) -> Caller:
    """Return the user who started the batch, for a row of the audit: it has no rights, and may be removed meanwhile."""
    roles = tuple(map(Role, head.roles))
    return Caller(head.organization, head.user, head.subject, "user", roles, client=head.client)


def _json_type(value: Any) -> str:
    """Return JSON's name of a value's type."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
