"""From a Markdown tree to Notion's blocks; the way back is in block_reading.py.

Reference: https://developers.notion.com/reference/block

What Notion holds of a tree: headings to level 4; lists that are bulleted, numbered from 1, or tasks, where lists of one
kind side by side are one; pictures as blocks of their own, elsewhere links to them; code in the languages that Notion
knows, and ```math as an equation; a table whose head is empty as one without a head.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import batched, groupby
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.markdown.tree import (
    Block,
    Blocks,
    Break,
    Code,
    Heading,
    Image,
    Item,
    List,
    Paragraph,
    Quote,
    Rule,
    Run,
    Runs,
    Table,
    Text,
    Unsupported,
)
from mcpist_services.notion.languages import language_of
from mcpist_services.notion.rich_text import (
    MAX_TEXT_OBJECTS,
    Json,
    address,
    long_rich_text,
    lost_error,
    pieces,
    rich_text,
    text_object,
)

MAX_EXPRESSION_CHARACTERS = 1000


def blocks_of(tree: Iterable[Block]) -> list[Json]:
    """A tree as blocks to append, children inside, however deep; InvalidRequest for what would be lost."""
    return [made for block in tree for made in _blocks(block)]


def inside(block: Json) -> list[Json]:
    """The children inside a block to append."""
    children: list[Json] = block[block["type"]].get("children", [])
    return children


def single_block(tree: Iterable[Block]) -> Json:
    """A tree as one block that takes the place of another; InvalidRequest if it is not one, or holds more."""
    made = blocks_of(tree)
    if len(made) == 1 and made[0]["type"] == "table":
        made = inside(made[0])
    if len(made) != 1 or inside(made[0]):
        problem = "say one block; what is inside it, and what follows, is changed by its own id, or appended"
        raise InvalidRequest(field="markdown", problem=problem)
    return made[0]


def block_changes(block: Json, new: Json) -> Json:
    """What makes a block of Notion's be the new one: text without marks keeps the kind of block that it is."""
    kind, made = block["type"], new["type"]
    if made == kind:
        return {kind: {name: each for name, each in new[made].items() if name != "type"}}
    if made == "paragraph" and "rich_text" in block[kind] and kind != "code":
        return {kind: {"rich_text": new[made]["rich_text"]}}
    problem = f"the block is a {kind}, and Notion makes no {made} of it: delete it, and append the new one"
    raise InvalidRequest(field="markdown", problem=problem)


def _blocks(block: Block) -> Iterator[Json]:
    match block:
        case Paragraph(runs):
            yield from _paragraph(runs)
        case Heading(level, runs):
            yield _block(f"heading_{min(level, 4)}", rich_text=rich_text(runs))
        case Code(text, "math") if len(text) <= MAX_EXPRESSION_CHARACTERS:
            yield _block("equation", expression=text)
        case Code(text, language):
            yield _block("code", rich_text=_code(text), language=language_of(language))
        case Quote(blocks):
            yield _with_text("quote", blocks)
        case List(items, start):
            yield from (_item(item, start) for item in items)
        case Table(rows):
            yield _table(rows)
        case Rule():
            yield _block("divider")
        case Unsupported():
            raise lost_error(block)


def _paragraph(runs: Runs) -> Iterator[Json]:
    """A paragraph, or several where a picture or Notion's limit divides it."""
    for pictures, part in groupby(runs, lambda run: isinstance(run, Image)):
        if pictures:
            yield from (_picture(run) for run in part if isinstance(run, Image))
        else:
            texts = long_rich_text(_trimmed(tuple(part)))
            yield from (
                _block("paragraph", rich_text=list(some)) for some in batched(texts, MAX_TEXT_OBJECTS, strict=False)
            )


def _picture(image: Image) -> Json:
    caption = {"caption": rich_text([Text(image.alt)])} if image.alt else {}
    return _block("image", type="external", external=address(image.source), **caption)


def _code(text: str) -> list[Json]:
    texts = [text_object(piece) for piece in pieces(text)]
    if len(texts) > MAX_TEXT_OBJECTS:
        raise InvalidRequest(field="markdown", problem="a block of code is too long for Notion; split it")
    return texts


def _item(item: Item, start: int | None) -> Json:
    if item.done is not None:
        return _with_text("to_do", item.blocks, checked=item.done)
    return _with_text("bulleted_list_item" if start is None else "numbered_list_item", item.blocks)


def _with_text(kind: str, blocks: Blocks, **more: Any) -> Json:
    """A block whose own text is the first paragraph of what it holds."""
    made = blocks_of(blocks)
    own = made.pop(0)["paragraph"]["rich_text"] if made and made[0]["type"] == "paragraph" else []
    return _block(kind, rich_text=own, **more, **({"children": made} if made else {}))


def _table(rows: Sequence[Sequence[Runs]]) -> Json:
    headed = any(rows[0])
    children = [_block("table_row", cells=[rich_text(cell) for cell in row]) for row in rows[not headed :]]
    if not children:
        children = [_block("table_row", cells=[[] for _ in rows[0]])]
    return _block("table", table_width=len(rows[0]), has_column_header=headed, children=children)


def _block(kind: str, **fields: Any) -> Json:
    return {"type": kind, kind: fields}


def _trimmed(runs: Runs) -> Sequence[Run]:
    """Without the line breaks that divided a text from a picture."""
    kept = list(runs)
    while kept and isinstance(kept[0], Break):
        kept.pop(0)
    while kept and isinstance(kept[-1], Break):
        kept.pop()
    return kept
