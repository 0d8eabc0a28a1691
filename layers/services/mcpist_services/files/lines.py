"""Parts of a text: lines, bytes, the lines that a pattern matches, and its difference from another text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import accumulate
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.files.ranges import between_characters
from mcpist.patterns import Pattern, compile_pattern
from mcpist.render.answer import BYTES_PER_TOKEN, DEFAULT_ANSWER_TOKENS
from mcpist.tools.declare.call import PartialList

# What an answer has room for, beside its other lines.
MAX_PART_BYTES = (DEFAULT_ANSWER_TOKENS - 500) * BYTES_PER_TOKEN
MAX_LINE_CHARACTERS = 300  # of a line that a search shows

# difflib compares every changed line of one text with every one of the other, in the worst case.
MAX_COMPARED_PAIRS = 4_000_000
type Part = dict[str, str] | PartialList
type Row = dict[str, Any]


def read_lines(text: str, offset: int, limit: int) -> Part:
    """Return some lines of a text, as many as fit; InvalidRequest for an offset past the end."""
    lines = text.splitlines()
    _check_offset(offset, len(lines), "lines")
    wanted = lines[offset : offset + limit]
    fitting = _fitting(wanted)
    if wanted and not fitting:
        begin = wanted[0].encode()[:MAX_PART_BYTES].decode(errors="ignore")
        part = {"part": f"the beginning of line {offset} of {len(lines)}", "content": begin}
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
    return sum(size <= MAX_PART_BYTES for size in accumulate(len(line.encode()) + 1 for line in lines))


def _check_offset(offset: int, length: int, unit: str) -> None:
    if offset > max(0, length - 1):
        raise InvalidRequest(field="offset", problem=f"it is past the end: the file has {length:,} {unit}")


def _range(unit: str, begin: int, end: int, length: int) -> str:
    return f"{unit} {begin}-{max(begin, end - 1)} of {length}" if length else "it is empty"


def compare(old: str, new: str, context: int) -> dict[str, Any]:
    """Return the lines that two texts do not share: as a unified diff, of very different large texts without order."""
    olds, news = old.splitlines(), new.splitlines()
    begin = _shared(olds, news)
    end = _shared(olds[begin:][::-1], news[begin:][::-1])
    if (len(olds) - begin - end) * (len(news) - begin - end) > MAX_COMPARED_PAIRS:
        removed, added = Counter(olds) - Counter(news), Counter(news) - Counter(olds)
        lines = [*(f"-{line}" for line in removed.elements()), *(f"+{line}" for line in added.elements())]
        return _difference(lines, sum(removed.values()), sum(added.values()))
    first = max(0, begin - context)
    old_part, new_part = (texts[first : len(texts) - max(0, end - context)] for texts in (olds, news))
    lines = [_moved(line, first) for line in unified_diff(old_part, new_part, "a", "b", n=context, lineterm="")]
    changes = Counter(line[:1] for line in lines[2:])
    return _difference(lines, changes["-"], changes["+"])


def _difference(lines: Sequence[str], removed: int, added: int) -> dict[str, Any]:
    text = "\n".join(lines)
    cut = text[:MAX_PART_BYTES].rpartition("\n")[0] + "\n…" if len(text) > MAX_PART_BYTES else text
    return {"same": not lines, "removed": removed, "added": added, "diff": cut}


def _shared(olds: Sequence[str], news: Sequence[str]) -> int:
    """Return how many lines two texts share at their beginning."""
    pairs = enumerate(zip(olds, news, strict=False))
    return next((place for place, (old, new) in pairs if old != new), min(len(olds), len(news)))


def _moved(line: str, lines: int) -> str:
    """Return a line of a diff with the line numbers of the whole texts."""
    if not lines or not line.startswith("@@"):
        return line
    _, old, new, mark = line.split(" ")
    return f"@@ {_moved_range(old, lines)} {_moved_range(new, lines)} {mark}"


def _moved_range(text: str, lines: int) -> str:
    first, comma, length = text[1:].partition(",")
    return f"{text[0]}{int(first) + lines}{comma}{length}"
