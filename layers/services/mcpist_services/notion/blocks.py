"""From a Markdown tree to Notion's blocks; block_reading.py is the inverse.

Reference: https://developers.notion.com/reference/block

What Notion can hold: headings up to level 4; lists that are bulleted, numbered from 1, or tasks, where adjacent lists
of one kind are one; images as separate blocks, elsewhere as links; code in the languages that Notion knows, and ```math
as an equation; a table with an empty header as one without a header.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import batched, groupby
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.markdown import tree
from mcpist.toml_table import toml_beside
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

MAX_EQUATION_CHARACTERS = 1000
PLAIN = "plain text"  # the language of code without one


def blocks_of(top_level: Iterable[tree.Block]) -> list[Json]:
    """Convert a tree to blocks with their nested blocks; InvalidRequest for what would be lost."""
    return [converted for block in top_level for converted in _blocks(block)]


def inside(block: Json) -> list[Json]:
    """Return the nested blocks of a block to append."""
    children: list[Json] = block[block["type"]].get("children", [])
    return children


def single_block(top_level: Iterable[tree.Block]) -> Json:
    """Convert a tree to the one block that replaces another; InvalidRequest if it is not one, or has nested blocks."""
    blocks = blocks_of(top_level)
    if len(blocks) == 1 and blocks[0]["type"] == "table":
        blocks = inside(blocks[0])
    if len(blocks) != 1 or inside(blocks[0]):
        problem = "give one block; change nested and following blocks by their own ids, or append them"
        raise InvalidRequest(field="markdown", problem=problem)
    return blocks[0]


def block_changes(block: Json, new: Json) -> Json:
    """Return the change that turns a block into the new one; a plain paragraph keeps the type of the block."""
    kind, new_kind = block["type"], new["type"]
    if new_kind == kind:
        return {kind: {name: each for name, each in new[kind].items() if name != "type"}}
    if new_kind == "paragraph" and "rich_text" in block[kind] and kind != "code":
        return {kind: {"rich_text": new[new_kind]["rich_text"]}}
    problem = f"the block is a {kind}, which Notion cannot turn into a {new_kind}: delete it, and append the new one"
    raise InvalidRequest(field="markdown", problem=problem)


def _blocks(block: tree.Block) -> Iterator[Json]:
    match block:
        case tree.Paragraph(runs):
            yield from _paragraph(runs)
        case tree.Heading(level, runs):
            yield _block(f"heading_{min(level, 4)}", rich_text=rich_text(runs))
        case tree.Code(text, "math") if len(text) <= MAX_EQUATION_CHARACTERS:
            yield _block("equation", expression=text)
        case tree.Code(text, language):
            yield _block("code", rich_text=_code(text), language=language_of(language))
        case tree.Quote(blocks):
            yield _with_text("quote", blocks)
        case tree.List(items, start):
            yield from (_item(item, start) for item in items)
        case tree.TableBlock(rows):
            yield _table(rows)
        case tree.Rule():
            yield _block("divider")
        case tree.Unsupported():
            raise lost_error(block)


def _paragraph(runs: tree.Runs) -> Iterator[Json]:
    """Yield a paragraph, or several where an image or Notion's limit divides it."""
    for pictures, part in groupby(runs, lambda run: isinstance(run, tree.Image)):
        if pictures:
            yield from (_picture(run) for run in part if isinstance(run, tree.Image))
        else:
            texts = long_rich_text(_trimmed(tuple(part)))
            yield from (
                _block("paragraph", rich_text=list(some)) for some in batched(texts, MAX_TEXT_OBJECTS, strict=False)
            )


def _picture(image: tree.Image) -> Json:
    caption = {"caption": rich_text([tree.TextRun(image.alt)])} if image.alt else {}
    return _block("image", type="external", external=address(image.source), **caption)


def _code(text: str) -> list[Json]:
    texts = [text_object(piece) for piece in pieces(text)]
    if len(texts) > MAX_TEXT_OBJECTS:
        raise InvalidRequest(field="markdown", problem="a block of code is too long for Notion; split it")
    return texts


def _item(item: tree.Item, start: int | None) -> Json:
    if item.done is not None:
        return _with_text("to_do", item.blocks, checked=item.done)
    return _with_text("bulleted_list_item" if start is None else "numbered_list_item", item.blocks)


def _with_text(kind: str, blocks: tree.Blocks, **more: Any) -> Json:
    """Return a block whose text is the first paragraph of these blocks, and which nests the others."""
    children = blocks_of(blocks)
    own = children.pop(0)["paragraph"]["rich_text"] if children and children[0]["type"] == "paragraph" else []
    return _block(kind, rich_text=own, **more, **({"children": children} if children else {}))


def _table(rows: Sequence[Sequence[tree.Runs]]) -> Json:
    headed = any(rows[0])
    children = [_block("table_row", cells=[rich_text(cell) for cell in row]) for row in rows[not headed :]]
    if not children:
        children = [_block("table_row", cells=[[] for _ in rows[0]])]
    return _block("table", table_width=len(rows[0]), has_column_header=headed, children=children)


def _block(kind: str, **fields: Any) -> Json:
    return {"type": kind, kind: fields}


def _trimmed(runs: tree.Runs) -> Sequence[tree.Run]:
    """Drop the line breaks that divided a text from an image."""
    trimmed = list(runs)
    while trimmed and isinstance(trimmed[0], tree.Break):
        trimmed.pop(0)
    while trimmed and isinstance(trimmed[-1], tree.Break):
        trimmed.pop()
    return trimmed


def language_of(name: str) -> str:
    """Return Notion's name of a language; plain text for one that it does not know."""
    table = toml_beside(__file__, "languages.toml")
    for word in (name.strip().lower(), name.strip().lower().partition(" ")[0]):
        if language := word if word in table["names"] else table["aliases"].get(word):
            return str(language)
    return PLAIN
