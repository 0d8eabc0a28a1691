"""From the tree to Markdown: the fewest characters that read back the same.

Reference: https://spec.commonmark.org/0.31.2/ and, for tables, strikes and tasks, https://github.github.com/gfm/. Of
several ways to write an element it takes the one that models use: `-`, `1.`, `---`, `**`, `*`, fences.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from mcpist.markdown import tree
from mcpist.markdown.inline import escape_plain, inline
from mcpist.markdown.normal_form import MAX_LIST_NUMBER, normalize
from mcpist.markdown.tree import Block, Code, Heading, Item, List, Paragraph, Quote, Run, TextRun, Unsupported

# A list after a list would continue it, and directly after a marker `- - -` and `- ---` are rules.
_RULE = "---"
_ALTERNATIVE = {"-": "*", ".": ")", _RULE: "***"}
_BREAK_IN_LINE = "<br>"


def write(blocks: tree.Blocks) -> str:
    """Return the tree as Markdown, which `read` turns into the tree in its normal form."""
    return _blocks(normalize(blocks))


def plain_text(runs: tree.Runs) -> str:
    """Return runs as text without marks, e.g. for a title."""
    return "".join(map(_plain, runs))


def _plain(run: tree.Run) -> str:
    match run:
        case tree.TextRun(text):
            return text
        case tree.Image(_, alt):
            return alt
        case tree.Mention(_, name):
            return f"@{name}"
        case tree.Break():
            return "\n"
        case tree.Unsupported():
            return ""


def _blocks(blocks: tree.Blocks, marker: str = "") -> str:
    """Write blocks one after another; `marker` is that of the list item that contains them, if any."""
    parts: list[str] = []
    before: tree.Block | None = None
    taken = marker
    for block in blocks:
        if before is not None:
            parts.append("\n" if marker and isinstance(before, tree.Paragraph) and _interrupts(block) else "\n\n")
        if isinstance(block, tree.List):
            own = "-" if block.start is None else "."
            taken = _ALTERNATIVE[own] if own == taken else own
            parts.append(_list(block, taken))
        else:
            text = _block(block)
            parts.append(_ALTERNATIVE[text] if text == _RULE and before is None and marker == "-" else text)
            taken = ""
        before = block
    return "".join(parts)


def _interrupts(block: tree.Block) -> bool:
    """Whether a list may follow a paragraph without an empty line: text could not be read as its marker."""
    if not isinstance(block, tree.List) or block.start not in (None, 1):
        return False
    first = block.items[0]
    return bool(first.blocks) or first.done is not None


def _block(
    block: tree.Paragraph | tree.Heading | tree.Code | tree.Quote | tree.TableBlock | tree.Rule | tree.Unsupported,
) -> str:
    match block:
        case tree.Paragraph(runs):
            return inline(runs)
        case tree.Heading(level, runs):
            text = re.sub(r"(?:\A|(?<=[ \t]))#+\Z", r"\\\g<0>", inline(runs, _BREAK_IN_LINE))
            return f"{'#' * level} {text}" if text else "#" * level
        case tree.Code(text, language):
            return _code(text, language)
        case tree.Quote(blocks):
            return _prefix_lines("> ", "> ", _blocks(blocks))
        case tree.TableBlock(rows):
            return _table(rows)
        case tree.Unsupported(name):
            return f"<!-- not carried: {name} -->"
        case tree.Rule():
            return _RULE


def _list(block: tree.List, mark: str) -> str:
    lines = []
    for position, item in enumerate(block.items):
        number = "" if block.start is None else str(min(block.start + position, MAX_LIST_NUMBER))
        marker = f"{number}{mark} "
        lines.append(_prefix_lines(marker, " " * len(marker), _item(item, mark)))
    return "\n".join(lines)


def _item(item: tree.Item, mark: str) -> str:
    text = _blocks(item.blocks, mark)
    if item.done is None:
        return text
    box = "[x]" if item.done else "[ ]"
    if not text:
        return box
    return f"{box} {text}" if isinstance(item.blocks[0], tree.Paragraph) else f"{box}\n\n{text}"


def _prefix_lines(first: str, others: str, text: str) -> str:
    """Put a prefix before every line of a text, without trailing spaces."""
    lines = text.split("\n")
    prefixes = [first, *[others] * (len(lines) - 1)]
    return "\n".join(prefix + line if line else prefix.rstrip() for prefix, line in zip(prefixes, lines, strict=True))


def _code(text: str, language: str) -> str:
    mark = "~" if "`" in language else "`"
    fence = mark * max(3, 1 + max(map(len, re.findall(f"{mark}+", text)), default=0))
    # A pipe followed by a line such as `---` would be the head of a table.
    named = escape_plain(language).replace("|", "&#124;")
    opening = f"{fence}{' ' * (mark == '~')}{named}".rstrip(" ")
    return "\n".join([opening, *([text] if text else []), fence])


def _table(rows: tuple[tuple[tree.Runs, ...], ...]) -> str:
    lines = [[inline(cell, _BREAK_IN_LINE).replace("|", r"\|") for cell in row] for row in rows]
    lines.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


type RunLine = Sequence[Run]

_BOXES = {None: "", True: "[x] ", False: "[ ] "}


def lines_of(blocks: Iterable[Block]) -> Iterator[RunLine]:
    """Yield the lines of blocks, with an empty one between blocks; an Unsupported is a line of its own."""
    for place, block in enumerate(blocks):
        if place:
            yield ()
        yield from _lines(block)


def _lines(block: Block) -> Iterator[RunLine]:
    match block:
        case Paragraph(runs) | Heading(_, runs):
            yield runs
        case Code(text):
            yield from ([TextRun(line, frozenset({"code"}))] for line in text.split("\n"))
        case Quote(blocks):
            yield from ([TextRun("> "), *line] for line in lines_of(blocks))
        case List(items, start):
            for place, item in enumerate(items):
                yield from _prefixed("- " if start is None else f"{start + place}. ", item)
        case Unsupported():
            yield (block,)
        case _:
            yield from ([TextRun(line)] for line in write((block,)).split("\n"))


def _prefixed(mark: str, item: Item) -> Iterator[RunLine]:
    lines: Iterable[RunLine] = (line for inner in item.blocks for line in _lines(inner))
    for place, line in enumerate(lines):
        yield [TextRun("  " if place else f"{mark}{_BOXES[item.done]}"), *line]
