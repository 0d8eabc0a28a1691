"""The whole call as it would be right, beside the error of one whose arguments are almost right."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mcpist.errors import InvalidArguments, McpistError
from mcpist.suggestions import closest
from mcpist.tools.declare import tolerance
from mcpist.tools.declare.schema_tool import properties_of
from mcpist.tools.declare.tool import Tool

END_WORDS = frozenset({"until", "before", "end", "max", "latest", "to"})
"""The last words of arguments that are the end of a span of time: a day there means its end."""
ASSUMED_ZONE = "UTC"

type AsCall = Callable[[dict[str, Any]], dict[str, Any]]
"""Return the whole call with other arguments, as its caller would write it."""


@contextmanager
def correcting(
    tool: Tool, arguments: Mapping[str, Any], unresolved: Collection[str] = (), as_call: AsCall | None = None
) -> Iterator[None]:
    """Add to an error of these arguments, as the caller wrote them, the call with others that the tool takes."""
    try:
        yield
    except InvalidArguments as error:
        if (error.details["module"], error.details["tool"]) != (tool.module, tool.name):
            raise
        fixed = _corrected(properties_of(tool.input_schema), arguments)
        renamed = {new for old, new in zip(arguments, fixed, strict=False) if old in unresolved}
        if fixed == arguments or len(fixed) < len(arguments) or not _is_valid(tool, fixed, renamed):
            raise
        call = {"module": tool.module, "tool": tool.name, "params": fixed}
        raise error.with_details(corrected=as_call(fixed) if as_call else call) from None


def _corrected(specs: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments under the names that are nearest to theirs, with lists and days as the tool takes them."""
    free = [name for name in specs if name not in arguments]
    named = {name if name in specs else closest(name, free) or name: value for name, value in arguments.items()}
    return {name: _as_meant(name, specs.get(name, {}), value) for name, value in named.items()}


def _as_meant(name: str, spec: Mapping[str, Any], value: Any) -> Any:
    match spec:
        case _ if not isinstance(value, str):
            return value
        case {"type": "array"}:
            return tolerance.texts(value, split=True) or value
        case {"format": "day"}:
            return tolerance.day(value, zone=ASSUMED_ZONE)
        case {"format": "moment"}:
            shift = "/d+1d" if name.rpartition("_")[2] in END_WORDS else "/d"
            return tolerance.day(value, zone=ASSUMED_ZONE, shift=shift)
    return value


def _is_valid(tool: Tool, arguments: Mapping[str, Any], unresolved: Collection[str]) -> bool:
    """Whether a tool takes arguments, as far as their values are known."""
    try:
        tool.check(arguments, unresolved)
    except McpistError:
        return False
    return True
