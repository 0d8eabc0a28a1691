"""Parts of a text: some of its lines or bytes, and the lines that a pattern matches."""

from collections.abc import Iterator, Sequence
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.files.ranges import between_characters
from mcpist.patterns import Pattern, compile_pattern
from mcpist.tools.declare.call import PartialList

MAX_PART_CHARACTERS = 40_000
MAX_LINE_CHARACTERS = 300  # of a line that a search shows

type Part = dict[str, str] | PartialList
type Row = dict[str, Any]


def read_lines(text: str, offset: int, limit: int) -> Part:
    """Return some lines of a text, as many as fit; InvalidRequest for an offset past the end."""
    lines = text.splitlines()
    _check_offset(offset, len(lines), "lines")
    wanted = lines[offset : offset + limit]
    fitting = _fitting(wanted)
    if wanted and not fitting:
        part = {"part": f"the beginning of line {offset} of {len(lines)}", "content": wanted[0][:MAX_PART_CHARACTERS]}
        begins = len("".join(text.splitlines(keepends=True)[:offset]).encode())
        end = begins + len(part["content"].encode())
        return PartialList(part, f"The line is longer than an answer: go on with unit=bytes, offset={end}.")
    end = offset + fitting
    part = {"part": _range("lines", offset, end, len(lines)), "content": "\n".join(wanted[:fitting])}
    return part if end >= len(lines) else PartialList(part, f"Go on with offset={end}.")


def read_bytes(content: bytes, offset: int, limit: int) -> Part:
    """Return some bytes of a text, moved to where its characters begin and end."""
    _check_offset(offset, len(content), "bytes")
    begin, end = between_characters(content, offset, offset + limit)
    part = {"part": _range("bytes", begin, end, len(content)), "content": content[begin:end].decode()}
    return part if end >= len(content) else PartialList(part, f"Go on with unit=bytes, offset={end}.")


def search_lines(text: str, pattern: str, context: int, offset: int, limit: int) -> list[Row] | PartialList:
    """Return the lines that a pattern matches, with some lines around each; `match` marks the ones that match."""
    compiled, lines = compile_pattern(pattern), text.splitlines()
    _check_offset(offset, len(lines), "lines")
    found = [place for place in range(offset, len(lines)) if compiled.search(lines[place])]
    rows = list(_with_context(lines, found[:limit], context, compiled))
    if len(found) <= limit:
        return rows
    return PartialList(rows, f"{len(found) - limit} more lines match: go on with offset={found[limit]}.")


def _with_context(lines: Sequence[str], found: Sequence[int], context: int, pattern: Pattern) -> Iterator[Row]:
    matches = set(found)
    around = {place for match in found for place in range(match - context, match + context + 1)}
    for place in sorted(around & {*range(len(lines))} if context else around):
        marked = {"match": place in matches} if context else {}
        yield {"offset": place, **marked, "text": _excerpt(lines[place], pattern if place in matches else None)}


def _excerpt(line: str, pattern: Pattern | None) -> str:
    """Return a line, of a long one the part around the first match."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    match = pattern.search(line) if pattern else None
    begin = max(0, (match.start() if match else 0) - MAX_LINE_CHARACTERS // 3)
    end = begin + MAX_LINE_CHARACTERS
    return f"{'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"


def _fitting(lines: Sequence[str]) -> int:
    """Return how many of the lines fit into an answer."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > MAX_PART_CHARACTERS:
            return number
    return len(lines)


def _check_offset(offset: int, length: int, unit: str) -> None:
    if offset > max(0, length - 1):
        raise InvalidRequest(field="offset", problem=f"it is past the end: the file has {length:,} {unit}")


def _range(unit: str, begin: int, end: int, length: int) -> str:
    return f"{unit} {begin}-{max(begin, end - 1)} of {length}" if length else "it is empty"
