"""The normal form of a tree: the form that Markdown can hold, so that writing and reading gives the same tree.

Text: runs of one style are one run; empty runs, paragraphs, lists and tables are removed. A line break in a text is a
Break; there are no spaces around a Break and at the ends of a block, and no Break at the ends. Spaces carry only the
marks and the link that both their neighbours carry. A link to `mention:id` is a Mention; a paragraph of one Unsupported
is that Unsupported. Fields of one line (addresses, names) hold no line breaks. Characters that no character reference
can express (most control characters, halves of surrogate pairs) become the replacement character.

Blocks: a heading's level is 1 to 6, a list starts at 0 to 999,999,999, all rows are as long as the longest. Quotes and
lists deeper than MAX_NESTING are replaced by their blocks.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from urllib.parse import unquote

from mcpist.markdown.flanking import SPACES
from mcpist.markdown.tree import (
    Block,
    Blocks,
    Break,
    Code,
    Heading,
    Image,
    Item,
    List,
    Mark,
    Mention,
    Paragraph,
    Quote,
    Rule,
    Run,
    Runs,
    Table,
    Text,
    Unsupported,
)

MAX_NESTING = 32  # the parser recurses, and counts a quote as one level, a list as two
MENTION = "mention:"
MAX_LIST_NUMBER = 999_999_999  # of an item: nine digits

_LINE_END = re.compile(r"\r\n?|\n")
_BLANK = re.compile(rf"[{SPACES}]+")
_NONCHARACTERS = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_NOT_IN_CODE = re.compile(r"[\0\ud800-\udfff]")
_UNENCODABLE = re.compile(rf"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_NONCHARACTERS}]")


def normalize(blocks: Blocks) -> Blocks:
    """Return the tree as Markdown can hold it; a tree from `read` is normal already."""
    return tuple(_blocks(blocks, 0))


def _blocks(blocks: Iterable[Block], level: int) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Quote | List) and level >= MAX_NESTING:
            yield from _blocks(_leaves(block), level)
        else:
            yield from _block(block, level)


def _block(block: Block, level: int) -> Iterator[Block]:
    match block:
        case Paragraph(runs):
            yield from _paragraph(_runs(runs))
        case Heading(depth, runs):
            yield Heading(min(max(depth, 1), 6), _runs(runs))
        case Code(text, language):
            yield Code(_NOT_IN_CODE.sub("\ufffd", _LINE_END.sub("\n", text)), single_line(language))
        case Quote(blocks):
            yield Quote(tuple(_blocks(blocks, level + 1)))
        case List(items, start) if items:
            kept = tuple(Item(tuple(_blocks(item.blocks, level + 2)), item.done) for item in items)
            yield List(kept, None if start is None else min(max(start, 0), MAX_LIST_NUMBER))
        case Table(rows) if any(rows):
            width = max(map(len, rows))
            yield Table(tuple(tuple(map(_runs, row)) + ((),) * (width - len(row)) for row in rows))
        case Unsupported():
            yield _lost(block)
        case Rule():
            yield block


def _paragraph(runs: Runs) -> Iterator[Block]:
    match runs:
        case ():
            pass
        case (Unsupported() as lost,):
            yield lost
        case _:
            yield Paragraph(runs)


def _leaves(block: Block) -> Iterator[Block]:
    """Return the blocks inside quotes and lists, however deep, in their order."""
    waiting = [block]
    while waiting:
        match waiting.pop():
            case Quote(blocks):
                waiting.extend(reversed(blocks))
            case List(items):
                waiting.extend(inner for item in reversed(items) for inner in reversed(item.blocks))
            case leaf:
                yield leaf


def _runs(runs: Runs) -> Runs:
    pieces = _trim_spaces(piece for run in runs for piece in _pieces(run))
    return tuple(_join_runs(_restrict_spaces(_restrict_spaces(pieces)[::-1])[::-1]))


def _pieces(run: Run) -> Iterator[Run]:
    """Split a run into pieces that are all spaces or have none at their ends."""
    match run:
        case Text(text, marks, link):
            yield from _text(text, marks, _address(link))
        case Image(source, alt):
            yield Image(_address(source), single_line(alt))
        case Mention(id_, name):
            yield Mention(_replace_unencodable(id_), single_line(name)) if id_ else Text(f"@{single_line(name)}")
        case Unsupported():
            yield _lost(run)
        case Break():
            yield run


def _text(text: str, marks: frozenset[Mark], link: str) -> Iterator[Run]:
    if text and link.startswith(MENTION) and link != MENTION:
        name = "" if text == link else text.removeprefix("@")
        yield Mention(_replace_unencodable(unquote(link.removeprefix(MENTION))), single_line(name))
        return
    for position, line in enumerate(_LINE_END.split(_replace_unencodable(text))):
        if position:
            yield Break()
        bare = line if "code" in marks else line.strip(SPACES)
        start = line.index(bare)
        pieces = (line[:start], bare, line[start + len(bare) :])
        yield from (Text(piece, marks, link) for piece in pieces if piece)


def _trim_spaces(pieces: Iterable[Run]) -> list[Run]:
    """Remove spaces around breaks, and spaces and breaks at the ends."""
    kept: list[Run] = []
    for piece in pieces:
        if isinstance(piece, Break):
            while kept and _is_blank(kept[-1]):
                kept.pop()
        at_start = not kept or isinstance(kept[-1], Break)
        if kept if isinstance(piece, Break) else not (at_start and _is_blank(piece)):
            kept.append(piece)
    while kept and (_is_blank(kept[-1]) or isinstance(kept[-1], Break)):
        kept.pop()
    return kept


def _restrict_spaces(pieces: list[Run]) -> list[Run]:
    """Keep on spaces only the marks and the link that the piece before them has."""
    before = Text("")
    shared: list[Run] = []
    for piece in pieces:
        if isinstance(piece, Text) and _is_blank(piece):
            before = Text(piece.text, piece.marks & before.marks, piece.link if piece.link == before.link else "")
            shared.append(before)
        else:
            before = piece if isinstance(piece, Text) else Text("")
            shared.append(piece)
    return shared


def _join_runs(pieces: list[Run]) -> Iterator[Run]:
    for style, alike in groupby(pieces, lambda piece: (piece.marks, piece.link) if isinstance(piece, Text) else None):
        if style is None:
            yield from alike
        else:
            yield Text("".join(piece.text for piece in alike if isinstance(piece, Text)), *style)


def _is_blank(run: Run) -> bool:
    return isinstance(run, Text) and "code" not in run.marks and not run.text.strip(SPACES)


def _lost(lost: Unsupported) -> Unsupported:
    """Remove `<` and `>`, which would end the comment that represents an unsupported element."""
    return Unsupported(single_line(re.sub("[<>]", " ", lost.name)))


def _address(text: str) -> str:
    """Remove line breaks and tabs from an address, as browsers do."""
    return _replace_unencodable(re.sub(r"[\t\r\n]", "", text)).strip(SPACES)


def _replace_unencodable(text: str) -> str:
    return _UNENCODABLE.sub("\ufffd", re.sub("[\v\f]", " ", text))


def single_line(text: str) -> str:
    """Return a text without line breaks, and with one space where there were several."""
    return _BLANK.sub(" ", _replace_unencodable(text)).strip(SPACES)
