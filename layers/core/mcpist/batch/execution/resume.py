"""Resume a batch: start a new one that begins with the results of an old one, which itself never changes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from mcpist.batch.execution.plan import Plan, replan
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header, MapItems
from mcpist.errors import AlreadyResumed, BatchNotFound, InvalidRequest, UnknownStep, UnseenTarget
from mcpist.suggestions import nearest
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Tool


@dataclass(frozen=True, slots=True)
class Resumption:
    """A plan of the steps of an old batch, and what a new batch takes over from it."""

    old: Header
    plan: Plan
    carried_entries: Mapping[int, Entry]
    """The steps that are not run again."""
    started_maps: Mapping[int, MapItems]
    """The lists of the steps with `each` that are known; the steps keep them."""
    elements: Sequence[Entry]
    """The elements that are not run again."""

    @property
    def steps_to_run(self) -> list[tuple[Step, Tool]]:
        """The steps that will run, with their tools, in the order of their lines."""
        return [(step, tool) for index, step, tool in self.plan.steps_by_line if index not in self.carried_entries]

    def require_first(self, batch: str) -> None:
        """Raise AlreadyResumed where another batch than this one resumes the old one, before anybody is asked."""
        if (successor := ledger.find_successor(self.old.pk)) not in {"", batch}:
            raise AlreadyResumed(batch=self.old.batch, by=successor)

    def pending_values(self, id_: str) -> list[Any] | None:
        """Return the elements that a step with `each` still runs over; None where its list is not known."""
        for index, map_items in self.started_maps.items():
            if self.plan.steps[index].id == id_:
                ended = {element.element for element in self.elements if element.index == index}
                values = ledger.load_json(self.old, map_items.values)
                return [value for number, value in enumerate(values) if number not in ended]
        return None

    def with_settled_steps(self, head: Header) -> Header:
        """Return the new batch's header with the steps that have settled, in the order in which they did.

        A step that is carried over, but needs one that runs again, settles after that one: no step settles before its
        needs.
        """
        places = {index: self.old.seq[self.old.ids.index(head.ids[index])] for index in self.carried_entries}
        ancestors = self.plan.graph.ancestors
        settled = [
            index for index in sorted(places, key=places.__getitem__) if ancestors[index] <= self.carried_entries.keys()
        ]
        return replace(
            head,
            resumes=self.old.batch,
            pins=self.old.pins,
            heard=self.old.heard,
            seq={index: place for place, index in enumerate(settled)},
            outcome={index: status for index in settled if (status := self.carried_entries[index].status)},
            elements={index: map_items.count for index, map_items in self.started_maps.items()},
        )

    def entries(self, fresh: Iterable[Entry]) -> list[Entry]:
        """Return the new batch's entries with what they take over."""
        return [self._carry_over(entry) for entry in fresh]

    def _carry_over(self, entry: Entry) -> Entry:
        entry = replace(entry, map_items=self.started_maps.get(entry.index))
        if old := self.carried_entries.get(entry.index):
            entry = replace(entry, ending=old.ending, started_at=old.started_at, ended_at=old.ended_at)
        return entry


def plan_resumption(old: Header, permissions: Permissions, again: Collection[str] = ()) -> Resumption:
    """Plan the resumption of a batch of the same user that is done.

    Failed, skipped and cancelled steps run again; those whose writes are in doubt only where `again` names them.
    Elements that succeeded are never run again.
    """
    if old.user != permissions.caller.user:
        raise BatchNotFound(batch=old.batch)
    if not old.done:
        raise InvalidRequest(field="resume", problem=f"{old.batch} is still running: wait for it, or cancel it")
    _check_again(old, again)
    entries = {entry.step.id: entry for entry in ledger.get_entries(old.pk)}
    permissions = copy(permissions)
    permissions.caller = replace(permissions.caller, heard=old.heard)
    plan = replan([entry.step for entry in entries.values()], permissions)
    planned = [entries[step.id] for step in plan.steps]
    carried_entries = {index: entry for index, entry in enumerate(planned) if _is_final(entry, again)}
    started_maps = {index: entry.map_items for index, entry in enumerate(planned) if entry.map_items}
    elements = [
        replace(element, index=index)
        for index in started_maps
        for element in ledger.get_elements(old.pk, planned[index])
        if index in carried_entries or _is_final(element, again)
    ]
    return Resumption(old, plan, carried_entries, started_maps, elements)


def _check_again(old: Header, again: Collection[str]) -> None:
    """Refuse names of steps that do not exist or have succeeded; others that did not succeed run again anyway."""
    for id_ in again:
        if id_ not in old.ids:
            raise UnknownStep(field="again", step=id_, known=nearest(id_, old.ids))
        if old.outcome[old.ids.index(id_)] == "succeeded":
            raise InvalidRequest(field="again", problem=f"{id_} has succeeded, and is not run again")


def _is_final(entry: Entry, again: Collection[str]) -> bool:
    """Return whether it succeeded, or is in doubt and is not to be run again.

    A step that succeeded runs again for the elements that its person had not seen, and may agree to now.
    """
    if any(one.get("error", {}).get("code") == UnseenTarget.code for one in entry.statuses or ()):
        return False
    return entry.status == "succeeded" or (entry.status == "unknown" and entry.step.id not in again)
