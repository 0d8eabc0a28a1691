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

from mcpist.markdown import tree
from mcpist.markdown.flanking import SPACES

MAX_NESTING = 32  # the parser recurses, and counts a quote as one level, a list as two
MENTION = "mention:"
MAX_LIST_NUMBER = 999_999_999  # of an item: nine digits

_LINE_END = re.compile(r"\r\n?|\n")
_BLANK = re.compile(rf"[{SPACES}]+")
_NONCHARACTERS = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_NOT_IN_CODE = re.compile(r"[\0\ud800-\udfff]")
_UNENCODABLE = re.compile(rf"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_NONCHARACTERS}]")


def normalize(blocks: tree.Blocks) -> tree.Blocks:
    """Return the tree as Markdown can hold it; a tree from `read` is normal already."""
    return tuple(_blocks(blocks, 0))


def _blocks(blocks: Iterable[tree.Block], level: int) -> Iterator[tree.Block]:
    for block in blocks:
        if isinstance(block, tree.Quote | tree.List) and level >= MAX_NESTING:
            yield from _blocks(_leaves(block), level)
        else:
            yield from _block(block, level)


def _block(block: tree.Block, level: int) -> Iterator[tree.Block]:
    match block:
        case tree.Paragraph(runs):
            yield from _paragraph(_runs(runs))
        case tree.Heading(depth, runs):
            yield tree.Heading(min(max(depth, 1), 6), _runs(runs))
        case tree.Code(text, language):
            yield tree.Code(_NOT_IN_CODE.sub("\ufffd", _LINE_END.sub("\n", text)), single_line(language))
        case tree.Quote(blocks):
            yield tree.Quote(tuple(_blocks(blocks, level + 1)))
        case tree.List(items, start) if items:
            kept = tuple(tree.Item(tuple(_blocks(item.blocks, level + 2)), item.done) for item in items)
            yield tree.List(kept, None if start is None else min(max(start, 0), MAX_LIST_NUMBER))
        case tree.TableBlock(rows) if any(rows):
            width = max(map(len, rows))
            yield tree.TableBlock(tuple(tuple(map(_runs, row)) + ((),) * (width - len(row)) for row in rows))
        case tree.Unsupported():
            yield _lost(block)
        case tree.Rule():
            yield block


def _paragraph(runs: tree.Runs) -> Iterator[tree.Block]:
    match runs:
        case ():
            pass
        case (tree.Unsupported() as lost,):
            yield lost
        case _:
            yield tree.Paragraph(runs)


def _leaves(block: tree.Block) -> Iterator[tree.Block]:
    """Return the blocks inside quotes and lists, however deep, in their order."""
    waiting = [block]
    while waiting:
        match waiting.pop():
            case tree.Quote(blocks):
                waiting.extend(reversed(blocks))
            case tree.List(items):
                waiting.extend(inner for item in reversed(items) for inner in reversed(item.blocks))
            case leaf:
                yield leaf


def _runs(runs: tree.Runs) -> tree.Runs:
    pieces = _trim_spaces(piece for run in runs for piece in _pieces(run))
    return tuple(join_runs(_restrict_spaces(_restrict_spaces(pieces)[::-1])[::-1]))


def _pieces(run: tree.Run) -> Iterator[tree.Run]:
    """Split a run into pieces that are all spaces or have none at their ends."""
    match run:
        case tree.TextRun(text, marks, link):
            yield from _text(text, marks, _address(link))
        case tree.Image(source, alt):
            yield tree.Image(_address(source), single_line(alt))
        case tree.Mention("", name):
            yield tree.TextRun(f"@{single_line(name)}")
        case tree.Mention(id_, name):
            yield tree.Mention(_replace_unencodable(id_), single_line(name))
        case tree.Unsupported():
            yield _lost(run)
        case tree.Break():
            yield run


def _text(text: str, marks: frozenset[tree.Mark], link: str) -> Iterator[tree.Run]:
    if text and link.startswith(MENTION) and link != MENTION:
        name = "" if text == link else text.removeprefix("@")
        yield tree.Mention(_replace_unencodable(unquote(link.removeprefix(MENTION))), single_line(name))
        return
    for position, line in enumerate(_LINE_END.split(_replace_unencodable(text))):
        if position:
            yield tree.Break()
        bare = line if "code" in marks else line.strip(SPACES)
        start = line.index(bare)
        pieces = (line[:start], bare, line[start + len(bare) :])
        yield from (tree.TextRun(piece, marks, link) for piece in pieces if piece)


def _trim_spaces(pieces: Iterable[tree.Run]) -> list[tree.Run]:
    """Remove spaces around breaks, and spaces and breaks at the ends."""
    kept: list[tree.Run] = []
    for piece in pieces:
        if isinstance(piece, tree.Break):
            while kept and _is_blank(kept[-1]):
                kept.pop()
        at_start = not kept or isinstance(kept[-1], tree.Break)
        if kept if isinstance(piece, tree.Break) else not (at_start and _is_blank(piece)):
            kept.append(piece)
    while kept and (_is_blank(kept[-1]) or isinstance(kept[-1], tree.Break)):
        kept.pop()
    return kept


def _restrict_spaces(pieces: list[tree.Run]) -> list[tree.Run]:
    """Keep on spaces only the marks and the link that the piece before them has."""
    before = tree.TextRun("")
    shared: list[tree.Run] = []
    for piece in pieces:
        if isinstance(piece, tree.TextRun) and _is_blank(piece):
            link = piece.link if piece.link == before.link else ""
            before = tree.TextRun(piece.text, piece.marks & before.marks, link)
            shared.append(before)
        else:
            before = piece if isinstance(piece, tree.TextRun) else tree.TextRun("")
            shared.append(piece)
    return shared


def join_runs(pieces: Iterable[tree.Run]) -> Iterator[tree.Run]:
    """Yield adjacent runs of one style as one, and no empty ones."""
    for style, alike in groupby(
        pieces, lambda piece: (piece.marks, piece.link) if isinstance(piece, tree.TextRun) else None
    ):
        if style is None:
            yield from alike
        elif text := "".join(piece.text for piece in alike if isinstance(piece, tree.TextRun)):
            yield tree.TextRun(text, *style)


def _is_blank(run: tree.Run) -> bool:
    return isinstance(run, tree.TextRun) and "code" not in run.marks and not run.text.strip(SPACES)


def _lost(lost: tree.Unsupported) -> tree.Unsupported:
    """Remove `<` and `>`, which would end the comment that represents an unsupported element."""
    return tree.Unsupported(single_line(re.sub("[<>]", " ", lost.name)))


def _address(text: str) -> str:
    """Remove line breaks and tabs from an address, as browsers do."""
    return _replace_unencodable(re.sub(r"[\t\r\n]", "", text)).strip(SPACES)


def _replace_unencodable(text: str) -> str:
    return _UNENCODABLE.sub("\ufffd", re.sub("[\v\f]", " ", text))


def single_line(text: str) -> str:
    """Return a text without line breaks, and with one space where there were several."""
    return _BLANK.sub(" ", _replace_unencodable(text)).strip(SPACES)
