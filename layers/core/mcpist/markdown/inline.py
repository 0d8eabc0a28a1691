"""The Markdown of one block's runs: marks as delimiters, and text escaped where it would be read as markup.

CommonMark does not let every delimiter open or close a mark in its place (`**a.**b`). Then the character beside the
delimiter is written as a character reference, which allows it. So every normal tree has a form that reads back the
same, and only rare ones are hard to read.
"""

import re
from collections import deque
from dataclasses import dataclass
from itertools import groupby
from typing import Literal
from urllib.parse import quote

from mcpist.markdown.flanking import SPACES, opens
from mcpist.markdown.normal_form import MENTION
from mcpist.markdown.tree import Break, Image, Mark, Mention, Run, Runs, TextRun, Unsupported

_DELIMITERS: dict[Mark, str] = {"strong": "**", "emphasis": "*", "strike": "~~"}
_AUTOLINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*")
_BARE_ADDRESS = re.compile(r"(?:[^\x00-\x20\x7f<>()\\]++|\([^\x00-\x20\x7f<>()\\]*+\))+")
_REFERENCE = r"&(?=\#[0-9]{1,7};|\#[xX][0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)"
_MARKUP = rf"""
    \\(?=[!-/:-@\[-`{{-~]|\Z)                # before a character that it would escape
    | ` | ~~+
    | (?<![{SPACES}])\* | \*(?![{SPACES}])   # but not in 2 * 3
    | (?<!\w)_++ | _++(?![^\W_])             # but not in snake_case
    | <(?=!--\ not\ carried:|[bB][rR]\ ?/?>)
    | <(?=[^<>\x00-\x20:@]*+(?:[:@][^<>\x00-\x20]*+(?:>|\Z)|\Z))
    | {_REFERENCE}
"""
_IN_TEXT = re.compile(rf"{_MARKUP} | \[(?![^\[\]]*\](?!\()) | \](?=\()", re.VERBOSE)  # but not in [1]
_IN_LABEL = re.compile(rf"{_MARKUP} | [\[\]]", re.VERBOSE)
_IN_ADDRESS = re.compile(rf"[\\<>]|{_REFERENCE}")
_BLOCK_START = re.compile(
    r"[-=:|](?=[-=:|\s]*\Z)"  # a rule, the line under a heading, the line under a table's head
    r"|(?:[-+]|\#{1,6})(?=\s|\Z)|>"
    r"|\[(?=[ xX]\](?:\s|\Z)|(?!\^)[^\[\]]*\]:)"  # a task, a link's definition
)
_NUMBER = re.compile(r"[0-9]{1,9}(?=[.)](?:\s|\Z))")


@dataclass(slots=True)
class _Part:
    """A piece of the block's Markdown; `first` and `last` say which of its ends is a character reference."""

    text: str
    kind: Literal["text", "label", "open", "close", "raw"] = "raw"
    first: bool = False
    last: bool = False

    def end(self, *, first: bool) -> str:
        """Return the character at one end."""
        if self.first if first else self.last:
            return "&" if first else ";"
        return self.text[0 if first else -1]


def inline(runs: Runs, line_break: str = "\\\n") -> str:
    """Return the Markdown of a paragraph's normal runs; with another line break, that of a heading or a cell."""
    edge = _Part("\n" if line_break.endswith("\n") else " ")
    parts = [edge, *_parts(runs, line_break), edge]
    _escape_neighbours(parts)
    return "".join(map(_markdown, parts, parts[1:], parts[2:]))


def _parts(runs: Runs, line_break: str) -> list[_Part]:
    """Return the runs with the delimiters of their marks around them, properly nested."""
    styles = _styles(runs)
    opened: list[str] = []
    parts: list[_Part] = []
    for run, style, ends in zip(runs, styles, _ends(styles), strict=True):
        kept = _still_open(opened, style, ends)
        parts += [_delimiter(mark, "close") for mark in reversed(opened[kept:])]
        # The mark that ends last is outermost; of marks that end together, the link.
        new = sorted(style.difference(opened[:kept]), key=lambda mark: (-ends[mark], mark[0] != "]", mark))
        parts += [_delimiter(mark, "open") for mark in new]
        opened = opened[:kept] + new
        parts.append(_body(run, style, line_break))
    return [*parts, *(_delimiter(mark, "close") for mark in reversed(opened))]


def _styles(runs: Runs) -> list[set[str]]:
    """Return the delimiters around each run: those of its marks, and the end of its link."""
    styles = [_style(run) if isinstance(run, TextRun) else set[str]() for run in runs]
    for emphasized, places in groupby(range(len(styles)), lambda place: "*" in styles[place]):
        stretch = list(places)
        near = styles[max(stretch[0] - 1, 0) : stretch[-1] + 2]
        if emphasized and any("**" in style for style in near):  # where * and ** meet, readers cannot tell them apart
            for place in stretch:
                styles[place] = styles[place] - {"*"} | {"_"}
    return styles


def _style(text: TextRun) -> set[str]:
    style = {delimiter for mark, delimiter in _DELIMITERS.items() if mark in text.marks}
    return style | {f"]({_address(text.link)})"} if text.link and not _is_autolink(text) else style


def _ends(styles: list[set[str]]) -> list[dict[str, int]]:
    """Return for each run where each of its marks ends."""
    ends: dict[str, int] = {}
    found = [ends := {mark: ends.get(mark, place) for mark in styles[place]} for place in reversed(range(len(styles)))]
    return found[::-1]


def _still_open(opened: list[str], style: set[str], ends: dict[str, int]) -> int:
    """Count the open marks that continue and do not end inside a link that begins here."""
    link_end = max((ends[mark] for mark in style.difference(opened) if mark[0] == "]"), default=-1)
    for position, mark in enumerate(opened):
        if mark not in style or ends[mark] < link_end:
            return position
    return len(opened)


def _delimiter(mark: str, kind: Literal["open", "close"]) -> _Part:
    # Brackets work between any characters, so they need no fitting neighbours.
    return _Part("[" if kind == "open" else mark) if mark[0] == "]" else _Part(mark, kind)


def _body(run: Run, style: set[str], line_break: str) -> _Part:
    match run:
        case TextRun(text, marks) if "code" in marks:
            return _Part(_code(text))
        case TextRun(text, _, link):
            labelled = any(mark[0] == "]" for mark in style)
            return _Part(f"<{text}>") if link and not labelled else _Part(text, "label" if labelled else "text")
        case Image(source, alt):
            return _Part(f"![{_IN_LABEL.sub(_escaped, alt)}]({_address(source)})")
        case Mention(id_, name):
            return _Part(f"[@{_IN_LABEL.sub(_escaped, name)}]({MENTION}{quote(id_, safe=':@/+,;=')})")
        case Unsupported(name):
            return _Part(f"<!-- not carried: {name} -->")
        case Break():
            return _Part(line_break)


def _escape_neighbours(parts: list[_Part]) -> None:
    """Turn characters beside delimiters into references until each delimiter opens or closes its mark."""
    waiting = deque(range(1, len(parts) - 1))
    while waiting:
        place = waiting.popleft()
        if parts[place].kind not in ("open", "close"):
            continue
        delimiter, opening = parts[place].text, parts[place].kind == "open"
        inner, outer = (place + 1, place - 1) if opening else (place - 1, place + 1)
        inside, outside = parts[inner].end(first=opening), parts[outer].end(first=not opening)
        if inside in SPACES or inside == delimiter[0] == "~":
            _make_reference(parts[inner], first=opening)
            inside = "&"
        unfit = not opens(delimiter, outside, inside) or outside == delimiter[0] == "~"
        if unfit and _make_reference(parts[outer], first=not opening):
            waiting += [outer - 1, outer + 1]  # the neighbours may have needed the letter


def _make_reference(part: _Part, *, first: bool) -> bool:
    """Write the first or last character of a text as a reference; return False where it is one already."""
    alone = len(part.text) == 1
    before = part.first, part.last
    part.first |= first or alone
    part.last |= not first or alone
    return before != (part.first, part.last)


def _markdown(before: _Part, part: _Part, after: _Part) -> str:
    if part.kind not in ("text", "label"):
        return part.text
    if part.first and len(part.text) == 1:
        return _reference(part.text)
    head = _reference(part.text[0]) if part.first else ""
    tail = _reference(part.text[-1]) if part.last else ""
    bare = part.text[part.first : len(part.text) - part.last]
    # The end of the block counts as a space; the end of a part may be followed by anything.
    end = " " if after.text in ("\n", " ") and not tail else ""
    markup = _IN_LABEL if part.kind == "label" else _IN_TEXT
    escaped = markup.sub(_escaped, bare + end).removesuffix(end)
    if bare.endswith("!") and after.text.startswith("[") and not tail:
        escaped = f"{escaped[:-1]}\\!"
    if before.text.endswith("\n") and not head:
        escaped = _escape_block_start(escaped)
    return head + escaped + tail


def _escape_block_start(line: str) -> str:
    """Escape the start of a text that would begin another block."""
    if _BLOCK_START.match(line):
        return f"\\{line}"
    return _NUMBER.sub(r"\g<0>\\", line, count=1) if _NUMBER.match(line) else line


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"\\{character}" for character in match[0])


def _reference(character: str) -> str:
    return f"&#{ord(character)};"


def _code(text: str) -> str:
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    padded = text[0] == "`" or text[-1] == "`" or (text[0] == text[-1] == " " and text.strip(" "))
    return f"{fence} {text} {fence}" if padded else f"{fence}{text}{fence}"


def _is_autolink(text: TextRun) -> bool:
    return text.text == text.link and "code" not in text.marks and bool(_AUTOLINK.fullmatch(text.link))


def _address(address: str) -> str:
    return escape_plain(address) if _BARE_ADDRESS.fullmatch(address) else f"<{escape_plain(address)}>"


def escape_plain(text: str) -> str:
    """Escape a text in which only backslashes, angles and character references are markup: an address, a language."""
    return _IN_ADDRESS.sub(_escaped, text)
