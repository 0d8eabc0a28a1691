"""One step's work: who it is done for, with which arguments, by which tool."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mcpist.batch.execution.settling import Entrance
from mcpist.batch.language.conditions import holds, is_of_element
from mcpist.batch.language.references import resolve
from mcpist.batch.ledger.records import Entry, Header
from mcpist.caller import Caller, Proof, Subject
from mcpist.errors import CallerError, NoList
from mcpist.people import directory
from mcpist.running.run import Brought, run
from mcpist.tools.permissions import Sieve
from mcpist_services import CATALOGUE
from step_runner.sources import Sources

SETTLING_SECONDS = 5.0
LEAST_SECONDS = 1.0


class StepWork:
    """The work of the step, or the element of it, that one invocation enters; `enters` hears whose batch it is."""

    def __init__(self, entrance: Entrance, enters: Callable[[Header], None]) -> None:
        self.enters = enters
        self._request = entrance.request
        self._until = time.monotonic() + entrance.remaining - SETTLING_SECONDS
        self._sources: Sources | None = None

    def is_wanted(self, head: Header, entry: Entry) -> bool:
        """Whether its `when` holds: one about the element is asked of each element, any other of the step, once."""
        if entry.when is None:
            return True
        asked_of_element = is_of_element(entry.when)
        if entry.each and asked_of_element != (entry.element is not None):
            return True
        return holds(entry.when, self._found(head, entry))

    def list(self, head: Header, entry: Entry) -> list[Any]:
        """What its `each` leads to."""
        with _placing(entry):
            found = resolve(entry.each, self._found(head, entry), "each")
            if not isinstance(found, list):
                raise NoList(field="each", reference=entry.each, kind=_kind(found))
        return found

    def prepare(self, head: Header, entry: Entry) -> Callable[[], Brought]:
        """What its tool will bring; the sieve is asked again, since roles may have changed meanwhile."""
        caller = _caller(head)
        sieve = Sieve(caller, CATALOGUE)
        tool = sieve.tool(entry.module, entry.tool)
        with _placing(entry):
            params = resolve(entry.params, self._found(head, entry))
        module = sieve.catalogue.module(entry.module)

        def bring() -> Brought:
            seconds = self._seconds(head, entry)
            return run(caller, module, tool, params, request=self._request, batch=head.batch, seconds=seconds)

        return bring

    def _found(self, head: Header, entry: Entry) -> Sources:
        """What `when`, `each` and params refer to; one invocation enters one step or element, and reads it once."""
        if self._sources is None:
            self._sources = Sources(head, entry)
        return self._sources

    def _seconds(self, head: Header, entry: Entry) -> float:
        """How long the tool may take: as its line says, and no longer than the sandbox lives or the batch is open."""
        left = min(self._until - time.monotonic(), head.closes_at - time.time())
        return max(LEAST_SECONDS, left if entry.timeout is None else min(left, entry.timeout))


@contextmanager
def _placing(entry: Entry) -> Iterator[None]:
    """Say of what is wrong with a line which one it is."""
    try:
        yield
    except CallerError as error:
        raise error.at(line=entry.line, id=entry.id) from None


def _caller(head: Header) -> Caller:
    return directory.identify(
        Subject(head.issuer, head.sub),
        organization=head.organization,
        roles=head.roles,
        proof=Proof("warrant", head.warrant) if head.warrant else None,
    )


def _kind(value: Any) -> str:
    """JSON's name of a value's type."""
    names = {dict: "object", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
