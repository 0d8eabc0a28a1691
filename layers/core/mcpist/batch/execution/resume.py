"""Resuming: a new batch that begins with what an old one has come to. The old one's facts never change."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mcpist.batch.execution.plan import Plan, replan
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header
from mcpist.errors import BatchNotFound, InvalidRequest, UnknownStep
from mcpist.tools.catalogue import nearest
from mcpist.tools.permissions import Permissions
from mcpist.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a new batch takes over: for each step of its plan that has settled for good the entry of the old batch.

    `started_maps` are the steps with `each` that go on with the list that they have begun, and
    `elements` those that ended.
    """

    old: Header
    plan: Plan
    carried_entries: Mapping[int, Entry]
    started_maps: Mapping[int, Entry]
    elements: Sequence[Entry]

    @property
    def steps_to_run(self) -> list[tuple[Step, Tool]]:
        """The steps that will run, with their tools, in the order of their lines."""
        pairs = enumerate(zip(self.plan.steps, self.plan.tools, strict=True))
        return sorted(
            (pair for index, pair in pairs if index not in self.carried_entries), key=lambda pair: pair[0].line
        )

    def with_settled_steps(self, head: Header) -> Header:
        """The new batch's header with what has settled, in the order in which it did.

        What is carried over, but needs a step that runs again, settles after that one: nothing settles
        before its needs.
        """
        places = {index: self.old.seq[self.old.ids.index(head.ids[index])] for index in self.carried_entries}
        ancestors = self.plan.graph.ancestors
        settled = [
            index for index in sorted(places, key=places.__getitem__) if ancestors[index] <= self.carried_entries.keys()
        ]
        return replace(
            head,
            resumes=self.old.batch,
            seq={index: place for place, index in enumerate(settled)},
            outcome={index: status for index in settled if (status := self.carried_entries[index].status)},
            elements={index: entry.map_items.count for index, entry in self.started_maps.items() if entry.map_items},
        )

    def entries(self, fresh: Iterable[Entry]) -> list[Entry]:
        """The new batch's entries: as they are asked for, with what they have come to."""
        return [self._carry_over(entry) for entry in fresh]

    def _carry_over(self, entry: Entry) -> Entry:
        if begun := self.started_maps.get(entry.index):
            entry = replace(entry, map_items=begun.map_items)
        if old := self.carried_entries.get(entry.index):
            return replace(
                entry,
                status=old.status,
                content=old.content,
                file=old.file,
                statuses=old.statuses,
                more=old.more,
                account=old.account,
                error=old.error,
                started_at=old.started_at,
                ended_at=old.ended_at,
            )
        return entry


def plan_resumption(old: Header, permissions: Permissions, again: Collection[str] = ()) -> Resumption:
    """What a batch would begin with that resumes a finished one of the same user.

    Failed, skipped and cancelled steps run again; of those whose writes may have happened only the ones that are named
    in `again`. Of a step with `each` the elements that succeeded are carried over, and never run again.
    """
    if old.user != permissions.caller.user:
        raise BatchNotFound(batch=old.batch)
    if not old.done:
        raise InvalidRequest(field="resume", problem=f"{old.batch} is still running: wait for it, or cancel it")
    _check_again(old, again)
    entries = {entry.id: entry for entry in ledger.get_entries(old.pk)}
    plan = replan([_to_step(old, entry) for entry in entries.values()], permissions)
    found = [entries[step.id] for step in plan.steps]
    carried_entries = {index: entry for index, entry in enumerate(found) if _is_final(entry, again)}
    started_maps = {index: entry for index, entry in enumerate(found) if entry.map_items}
    return Resumption(
        old=old,
        plan=plan,
        carried_entries=carried_entries,
        started_maps=started_maps,
        elements=[
            replace(element, index=index)
            for index, entry in started_maps.items()
            for element in ledger.get_elements(old.pk, entry)
            if index in carried_entries or _is_final(element, again)
        ],
    )


def _check_again(old: Header, again: Collection[str]) -> None:
    """Refuse to run again what is not in doubt: what has succeeded stays, and the rest runs anyhow."""
    for id_ in again:
        if id_ not in old.ids:
            raise UnknownStep(field="again", step=id_, known=nearest(id_, old.ids))
        outcome = old.outcome[old.ids.index(id_)]
        if outcome == "succeeded":
            raise InvalidRequest(field="again", problem=f"{id_} has succeeded, and is not run again")


def _is_final(entry: Entry, again: Collection[str]) -> bool:
    """Whether it has settled for good: it succeeded, or it may have happened and nobody asks for it again."""
    return entry.status == "succeeded" or (entry.status == "unknown" and entry.id not in again)


def _to_step(old: Header, entry: Entry) -> Step:
    """A step as its user wrote it, with what it waits for as ids."""
    return Step(
        line=entry.line,
        id=entry.id,
        has_explicit_id=True,
        module=entry.module,
        tool=entry.tool,
        params=entry.params,
        after=tuple(old.ids[need] for need in sorted(old.needs[entry.index])),
        output=entry.output,
        raw_output=entry.raw_output,
        each=entry.each,
        each_limit=entry.each_limit,
        when=entry.when,
        on_error="continue" if entry.index in old.continue_on_error else "stop",
        timeout=entry.timeout,
    )
