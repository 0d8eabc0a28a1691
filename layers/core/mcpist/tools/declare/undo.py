"""Declarations of undos: pure functions from a write's arguments, its answer and the state before to tool calls.

The calls are of tools of the same module, so an undo asks for the same permissions as any write. A declared read of the
same target gives the state before, and later shows whether somebody else has changed the target since.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcpist.errors import NotUndoable
from mcpist.render.shows import value_at


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A use of a tool that has written, or is about to."""

    tool: str
    arguments: Mapping[str, Any]
    """Checked, with defaults."""
    answer: Any = None
    """The JSON of its answer; None before it has one."""
    before: Any = None
    """The JSON of the declared read before the write; None where there is none."""

    def value(self, path: str) -> Any:
        """Return the value at a path that begins with `arguments`, `answer` or `before`."""
        roots = {"arguments": self.arguments, "answer": self.answer, "before": self.before}
        return value_at(roots, path)

    def given(self, *names: str) -> dict[str, Any]:
        """Return these arguments without those that are None."""
        return {name: self.arguments[name] for name in names if self.arguments.get(name) is not None}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool of the same module."""

    tool: str
    arguments: Mapping[str, Any]


type Value = str | Callable[[Any], Any]
"""The path of a value in an item's JSON, or a function that takes it from there."""
type From = str | Callable[[ToolChange], Any]
"""The path of a value that begins with `arguments`, `answer` or `before`, or a function that takes it from a change."""
type State = Callable[[Any, ToolChange], Mapping[str, Any]]
"""Returns the fields that a change writes, by argument as its value would be written, from the read's JSON."""
type After = Callable[[ToolChange], Mapping[str, Any]]
"""Returns the same fields as a change has left them, from its arguments and its answer."""
type Select = Callable[[Any, ToolChange], Any]
"""Returns the item of a change from the JSON of its read, e.g. from a list; None where it is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """The declaration of a tool's undo."""

    calls: Callable[[ToolChange], Iterable[ToolCall]]
    """Returns the calls in their order; NotUndoable where a part of the change cannot be undone."""
    read: str = ""
    """The tool that reads the target; empty only where no change of somebody else can be lost."""
    reads: Mapping[str, From] | None = None
    """Arguments of the read that differ from the change's of the same names; one that is None is left out."""
    target: Callable[[ToolChange], Mapping[str, Any]] | None = None
    """Returns the read's arguments, where they are not the change's and the first call's of the same names."""
    state: State | None = None
    after: After | None = None
    """Without an answer, the fields as the arguments alone say, none where they do not. If left out, `state` takes them
    from the answer."""
    creates: bool = False
    """Whether the target is new, so that nothing is read before the write."""

    def target_of(self, change: ToolChange, parameters: Iterable[str]) -> dict[str, Any]:
        """Return the arguments of the read for a change; `parameters` are those that the read has."""
        if self.target:
            return dict(self.target(change))
        made = next(iter(self.calls(change)), None) if self.creates and change.answer is not None else None
        # A list is read to its end, since the target may be anywhere in it.
        known = {"fetch_all": True, **change.arguments, **(made.arguments if made else {})}
        known |= values_of(change, self.reads or {})
        return {name: known[name] for name in parameters if known.get(name) is not None}

    def fields_of(self, json: Any, change: ToolChange) -> dict[str, Any]:
        """Return the fields that a change writes as a read's JSON has them; none where the target is not there."""
        return dict(self.state(json, change)) if self.state and json is not None else {}

    def written_by(self, change: ToolChange) -> dict[str, Any]:
        """Return the fields as a change has left them."""
        return dict(self.after(change)) if self.after else self.fields_of(change.answer, change)


def restores(
    read: str,
    *,
    select: Select | None = None,
    echoes: bool = True,
    reads: Mapping[str, From] | None = None,
    renamed: Mapping[str, From] | None = None,
    **fields: Value,
) -> Undo:
    """Declare that the same tool with the fields as they were undoes an update.

    `fields` are the tool's arguments, with the place of each in the read's JSON, or in the item that `select` finds.
    `echoes` says that the answer has the same shape as that item; else the fields are as the arguments say.
    `renamed` are the arguments by which the target is found that the change itself may give another value.
    """

    def state(json: Any, change: ToolChange) -> Mapping[str, Any]:
        item = select(json, change) if select else json
        return _values(item, {name: fields[name] for name in change.given(*fields)})

    def after(change: ToolChange) -> Mapping[str, Any]:
        written = change.given(*fields)
        return _values(change.answer, {name: fields[name] for name in written}) if echoes else written

    def calls(change: ToolChange) -> Iterable[ToolCall]:
        former = state(change.before, change)
        unknown = next((name for name in former if former[name] is None), "" if former else "target")
        if unknown:
            raise NotUndoable(tool=change.tool, problem=f"{unknown} was empty and cannot be emptied")
        others = {name: value for name, value in change.arguments.items() if name not in fields and value is not None}
        return [ToolCall(change.tool, {**others, **former, **values_of(change, renamed or {})})]

    place, known = _parsed(read)
    return Undo(calls=calls, read=place, state=state, after=after, reads={**known, **(reads or {}), **(renamed or {})})


def undone_by(
    call: str,
    *,
    read: str = "",
    select: Select | None = None,
    creates: bool = False,
    fields: str | Mapping[str, Value] = "",
    reads: Mapping[str, From] | None = None,
    state: State | None = None,
    after: After | None = None,
    **arguments: From,
) -> Undo:
    """Declare that one call of another tool undoes this one: `delete_x(owner, x_id=answer.id, force=true)`.

    A name alone is the argument of the change with this name; after `=` there is a path such as `answer.id`, else JSON.
    `arguments` are those that need a function of the change, where `before` is the item that `select` finds. With
    `read`, `fields` are compared, by path or as several names: they must be as the change has left them. `state` and
    `after` are those of an Undo, where `fields` do not say it.
    """
    tool, sources = _parsed(call)
    sources |= arguments
    compared = {name: name for name in fields.split()} if isinstance(fields, str) else fields

    def calls(change: ToolChange) -> Iterable[ToolCall]:
        if select and change.before is not None:
            change = replace(change, before=select(change.before, change))
        made = values_of(change, sources)
        return [ToolCall(tool, {name: value for name, value in made.items() if value is not None})]

    def values(json: Any, change: ToolChange) -> Mapping[str, Any]:
        return _values(select(json, change) if select else json, compared)

    place, known = _parsed(read)
    reads = {**known, **(reads or {})}
    after = after or ((lambda change: _values(change.answer, compared)) if creates else None)
    return Undo(calls=calls, read=place, state=state or values, after=after, creates=creates, reads=reads)


def toggles(
    call: str,
    *,
    read: str,
    has: Callable[[Any, ToolChange], bool],
    adds: bool,
    **arguments: From,
) -> Undo:
    """Declare that a call of the opposite tool undoes adding something to a target, or taking it off if not `adds`.

    `has` says whether the read's JSON has it: a change that found it as it leaves it needs no call.
    """
    more: dict[str, Any] = {**arguments}
    opposite = undone_by(call, **more)

    def calls(change: ToolChange) -> Iterable[ToolCall]:
        return [] if change.before is not None and has(change.before, change) == adds else opposite.calls(change)

    return Undo(
        calls=calls,
        read=read,
        state=lambda json, change: {"present": has(json, change)},
        after=lambda _: {"present": adds},
    )


def adds_each(call: str, *, read: str, argument: str, item: str, held: Callable[[Any], Collection[Any]]) -> Undo:
    """Declare that a call for each new one undoes adding the values of an argument to a target.

    `held` returns the values that the target has from the read's JSON; the call takes one as its argument `item`.
    """
    tool, sources = _parsed(call)

    def calls(change: ToolChange) -> Iterable[ToolCall]:
        had = held(change.before)
        new = [value for value in change.arguments[argument] if value not in had]
        return [ToolCall(tool, {**values_of(change, sources), item: value}) for value in new]

    def state(json: Any, change: ToolChange) -> Mapping[str, Any]:
        has = held(json)
        return {argument: [value for value in change.arguments[argument] if value in has]}

    return Undo(calls=calls, read=read, state=state, after=lambda change: change.given(argument))


def compares(**fields: Value) -> State:
    """Return a `state` of these values of the read's JSON, whatever the change; LookupError where one is missing."""

    def state(json: Any, _: ToolChange) -> Mapping[str, Any]:
        values = _values(json, fields)
        if missing := [name for name, value in values.items() if value is None]:
            raise LookupError(*missing)
        return values

    return state


def unless(holds: Callable[[ToolChange], Any], problem: str, undo: Undo) -> Undo:
    """Return an undo that is refused with this problem for changes of which `holds` is true."""

    def calls(change: ToolChange) -> Iterable[ToolCall]:
        if holds(change):
            raise NotUndoable(tool=change.tool, problem=problem)
        return undo.calls(change)

    return replace(undo, calls=calls)


def row_where(key: Value, *paths: str, rows: str = "") -> Select:
    """Return the selection of the row of a list whose `key` has the value at a path of the change, the first found."""

    def select(json: Any, change: ToolChange) -> Any:
        listed = (value_at(json, rows) if rows else json) or ()
        wanted = [value for value in map(change.value, paths) if value is not None]
        return next((one for value in wanted for one in listed if _value(one, key) == value), None)

    return select


def _parsed(call: str) -> tuple[str, dict[str, From]]:
    """Return the tool of a call that is written as text, and where its arguments come from."""
    tool, _, inside = call.removesuffix(")").partition("(")
    pairs = [part.strip().partition("=") for part in inside.split(",") if part.strip()]
    return tool, {name: _source(path if equals else f"arguments.{name}") for name, equals, path in pairs}


def _source(text: str) -> From:
    if text.partition(".")[0].partition("[")[0] in {"answer", "arguments", "before"}:
        return text
    value = json.loads(text)
    return lambda _: value


def values_of(change: ToolChange, sources: Mapping[str, From]) -> dict[str, Any]:
    """Return values by name that paths or functions take from a change."""
    return {name: of(change) if callable(of) else change.value(of) for name, of in sources.items()}


def _values(item: Any, fields: Mapping[str, Value]) -> dict[str, Any]:
    if item is None:
        return {}
    return {name: _value(item, of) for name, of in fields.items()}


def _value(item: Any, of: Value) -> Any:
    return of(item) if callable(of) else value_at(item, of)
