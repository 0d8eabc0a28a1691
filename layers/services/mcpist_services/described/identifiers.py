"""Identifiers: the field of an answer that the next operation needs, by the parameter at the end of its path."""

from collections.abc import Collection, Iterable

from mcpist_services.described.description import Operation
from mcpist_services.described.paths import skeleton, split
from mcpist_services.described.wording import singular, word_lists, words

_IDS = tuple(word_lists("answers")["ids"].split())


class Identifiers:
    """The parameters of a description's paths that name one item of a collection: `/books/{book-id}`."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._parameters: dict[str, str] = {}
        for operation in operations:
            collection, parameter = split(operation.path)
            if parameter:
                self._parameters.setdefault(skeleton(collection), parameter)

    def parameter(self, operation: Operation) -> str:
        """Return the parameter by which a path names an item of the operation's answer; empty where none does."""
        collection, parameter = split(operation.path)
        return parameter or self._parameters.get(skeleton(collection), "")

    def field_of(self, operation: Operation, fields: Collection[str]) -> str:
        """Return the field of an item whose value the next operation needs; empty where no field looks like it."""
        parameter = self.parameter(operation)
        named = identifier(parameter, split(operation.path)[0], fields) if parameter else ""
        return named or usual_id(fields)


def identifier(parameter: str, collection: str, fields: Collection[str]) -> str:
    """Return the field that holds the value of a path's parameter, `id` for `/books/{book-id}`; empty for none."""
    known = {"".join(words(name)): name for name in reversed(list(fields))}
    noun = [singular(word) for word in words(collection.rpartition("/")[2])]
    said = [word for word in words(parameter) if word != "or"]
    rest = [word for word in said if singular(word) not in noun]
    named = ["".join(said), "".join(rest), *(rest or said[-1:]), "".join([*noun, *(rest or ["id"])])]
    return next((known[name] for name in named if name in known), "")


def usual_id(fields: Collection[str]) -> str:
    """Return the field by which most APIs name an item; empty where there is none."""
    lower = {name.lower(): name for name in reversed(list(fields))}
    return next((lower[name] for name in (*_IDS, "name") if name in lower), "")
