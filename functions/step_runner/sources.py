"""What references lead to: the element that a step runs for, and the results of the steps before it."""

from mcpist.batch.language.references import EACH, Element, Nothing, Result
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import unpack
from mcpist.batch.ledger.records import Entry, Header
from mcpist_services import CATALOGUE


class Sources:
    """The sources of one step or element by their names, each read when a reference first needs it."""

    def __init__(self, head: Header, entry: Entry) -> None:
        self._head = head
        self._entry = entry
        self._indexes = {head.ids[need]: need for need in head.needs[entry.index]}
        self._read: dict[str, Result | Element | Nothing] = {}

    def __call__(self, name: str) -> Result | Element | Nothing:
        """The source under a name: `each`, or the id of a step."""
        if name not in self._read:
            self._read[name] = self._element() if name == EACH else self._result(self._indexes[name])
        return self._read[name]

    def _element(self) -> Element:
        fan, element = self._entry.fan, self._entry.element
        if fan is None or element is None:
            raise LookupError("the step has no element")
        return Element(ledger.raw(self._head, fan)[element])

    def _result(self, step: int) -> Result | Nothing:
        """What a settled step brought; one that failed may be needed all the same, and then it is null."""
        (source,) = ledger.entries(self._head.pk, [step])
        if source.content is None and source.file is None:
            return Nothing()
        shows = CATALOGUE.shows(source.module, source.tool)
        elements = None if source.statuses is None else unpack(source.statuses)
        return Result(ledger.raw(self._head, source), shows, source.file, elements)
