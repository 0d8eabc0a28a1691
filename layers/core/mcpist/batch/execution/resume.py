"""Resuming: a new batch that begins with what an old one has come to. The old one's facts never change."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mcpist.batch.execution.plan import Plan, replan
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header
from mcpist.errors import BatchNotFound, InvalidRequest, UnknownStep
from mcpist.tools.catalogue import nearest
from mcpist.tools.permissions import Sieve
from mcpist.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a new batch takes over: for each step of its plan that has settled for good the entry of the old batch.

    `begun` are the steps with `each` that go on with the list that they have begun, and `elements` those that ended.
    """

    old: Header
    plan: Plan
    kept: Mapping[int, Entry]
    begun: Mapping[int, Entry]
    elements: Sequence[Entry]

    @property
    def runs(self) -> list[tuple[Step, Tool]]:
        """The steps that will run, with their tools, in the order of their lines."""
        pairs = enumerate(zip(self.plan.steps, self.plan.tools, strict=True))
        return sorted((pair for index, pair in pairs if index not in self.kept), key=lambda pair: pair[0].line)

    def carried(self, head: Header) -> Header:
        """The new batch's header with what has settled, in the order in which it did.

        What is kept, but needs a step that runs again, settles after that one: nothing settles before its needs.
        """
        places = {index: self.old.seq[self.old.ids.index(head.ids[index])] for index in self.kept}
        ancestors = self.plan.graph.ancestors
        settled = [index for index in sorted(places, key=places.__getitem__) if ancestors[index] <= self.kept.keys()]
        return replace(
            head,
            resumes=self.old.batch,
            seq={index: place for place, index in enumerate(settled)},
            outcome={index: status for index in settled if (status := self.kept[index].status)},
            elements={index: entry.fan.count for index, entry in self.begun.items() if entry.fan},
        )

    def entries(self, fresh: Iterable[Entry]) -> list[Entry]:
        """The new batch's entries: as they are asked for, with what they have come to."""
        return [self._entry(entry) for entry in fresh]

    def _entry(self, entry: Entry) -> Entry:
        if begun := self.begun.get(entry.index):
            entry = replace(entry, fan=begun.fan)
        if kept := self.kept.get(entry.index):
            return replace(
                entry,
                status=kept.status,
                content=kept.content,
                file=kept.file,
                statuses=kept.statuses,
                more=kept.more,
                account=kept.account,
                error=kept.error,
                started_at=kept.started_at,
                ended_at=kept.ended_at,
            )
        return entry


def resumption(old: Header, sieve: Sieve, again: Collection[str] = ()) -> Resumption:
    """What a batch would begin with that resumes a finished one of the same user.

    Failed, skipped and cancelled steps run again; of those whose writes may have happened only the ones that are named
    in `again`. Of a step with `each` the elements that succeeded are kept, and never run again.
    """
    if old.user != sieve.caller.user:
        raise BatchNotFound(batch=old.batch)
    if not old.done:
        raise InvalidRequest(field="resume", problem=f"{old.batch} is still running: wait for it, or cancel it")
    _check(old, again)
    entries = {entry.id: entry for entry in ledger.entries(old.pk)}
    plan = replan([_step(old, entry) for entry in entries.values()], sieve)
    found = [entries[step.id] for step in plan.steps]
    kept = {index: entry for index, entry in enumerate(found) if _is_kept(entry, again)}
    begun = {index: entry for index, entry in enumerate(found) if entry.fan}
    return Resumption(
        old=old,
        plan=plan,
        kept=kept,
        begun=begun,
        elements=[
            replace(element, index=index)
            for index, entry in begun.items()
            for element in ledger.elements(old.pk, entry)
            if index in kept or _is_kept(element, again)
        ],
    )


def _check(old: Header, again: Collection[str]) -> None:
    """Refuse to run again what is not in doubt: what has succeeded stays, and the rest runs anyhow."""
    for id_ in again:
        if id_ not in old.ids:
            raise UnknownStep(field="again", step=id_, known=nearest(id_, old.ids))
        outcome = old.outcome[old.ids.index(id_)]
        if outcome == "succeeded":
            raise InvalidRequest(field="again", problem=f"{id_} has succeeded, and is not run again")


def _is_kept(entry: Entry, again: Collection[str]) -> bool:
    """Whether it has settled for good: it succeeded, or it may have happened and nobody asks for it again."""
    return entry.status == "succeeded" or (entry.status == "unknown" and entry.id not in again)


def _step(old: Header, entry: Entry) -> Step:
    """A step as its user wrote it, with what it waits for as ids."""
    return Step(
        line=entry.line,
        id=entry.id,
        named=True,
        module=entry.module,
        tool=entry.tool,
        params=entry.params,
        after=tuple(old.ids[need] for need in sorted(old.needs[entry.index])),
        output=entry.output,
        raw_output=entry.raw_output,
        each=entry.each,
        each_limit=entry.each_limit,
        when=entry.when,
        on_error="continue" if entry.index in old.lenient else "stop",
        timeout=entry.timeout,
    )
