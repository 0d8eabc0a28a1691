"""From Notion's blocks to a Markdown tree.

Reference: https://developers.notion.com/reference/block

Colours, and the looks of tables and columns, are dropped. A block that Markdown cannot express becomes its text beside
Unsupported with its name: so it can be read, but is never written back as something else.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from mcpist.markdown import tree
from mcpist_services.notion.blocks import PLAIN
from mcpist_services.notion.rich_text import Json, plain, runs_of

# Adjacent blocks of these types form one list or table.
_GROUPED_TYPES: Mapping[str, str] = {
    "bulleted_list_item": "-",
    "to_do": "-",
    "numbered_list_item": "1",
    "table_row": "|",
}
# Their contents are pages of their own, with their own ids.
_SEPARATE_PAGES = {"child_page", "child_database"}


def tree_of(blocks: Iterable[Json]) -> tree.Blocks:
    """Convert blocks from Notion, each with its `children` if these were read, to a tree."""
    return tuple(_tree(blocks))


def has_nested_blocks(block: Json) -> bool:
    """Whether a block has nested blocks."""
    return bool(block.get("has_children")) and block.get("type") not in _SEPARATE_PAGES


def _tree(blocks: Iterable[Json]) -> Iterator[tree.Block]:
    for mark, alike in groupby(blocks, lambda block: _GROUPED_TYPES.get(block.get("type", ""))):
        group = list(alike)
        if mark is None:
            for block in group:
                yield from _read(block)
        elif mark == "|":
            yield _rows(group)
        else:
            start = group[0][group[0]["type"]].get("list_start_index", 1)
            yield tree.List(tuple(map(_item, group)), None if mark == "-" else start)


def _item(block: Json) -> tree.Item:
    return tree.Item(_text_and_children(block), block[block["type"]].get("checked"))


def _read(block: Json) -> Iterator[tree.Block]:
    """Yield the blocks of Markdown that a block becomes."""
    kind = block.get("type", "")
    own = block.get(kind, {})
    match kind:
        case "paragraph":
            yield from _paragraph(block, own)
        case "heading_1" | "heading_2" | "heading_3" | "heading_4":
            yield from _heading(block, own)
        case "code":
            yield from _code(own)
        case "equation":
            yield tree.Code(own["expression"], "math")
        case "divider":
            yield tree.Rule()
        case "quote":
            yield tree.Quote(_text_and_children(block))
        case "table" if "children" in block:
            head = () if own["has_column_header"] else (((),) * own["table_width"],)
            yield tree.TableBlock((*head, *_rows(block["children"]).rows))
        case _:
            yield from _named_part(block, kind, own)


def _named_part(block: Json, kind: str, own: Json) -> Iterator[tree.Block]:
    """Yield the contents of a block beside the name of what Markdown lacks."""
    match kind:
        case "toggle":
            yield from (tree.Unsupported("toggle"), tree.List((tree.Item(_text_and_children(block)),)))
        case "callout":
            icon = (own.get("icon") or {}).get("emoji")
            first = (tree.Paragraph((tree.TextRun(icon),)),) if icon else ()
            yield from (tree.Unsupported("callout"), tree.Quote((*first, *_text_and_children(block))))
        case "column_list":
            yield from (tree.Unsupported("columns"), *_children(block))
        case "column":
            yield from _children(block)
        case "image":
            picture = tree.Image(own[own["type"]]["url"], plain(own.get("caption")))
            # The URL of an uploaded image expires within an hour, so it must not be written back.
            lost = () if own["type"] == "external" else (tree.Unsupported("uploaded image"),)
            yield tree.Paragraph((picture, *lost))
        case _ if link := _link(block, kind, own):
            yield tree.Paragraph((tree.TextRun(link[0], link=link[1]), tree.Unsupported(_named(kind))))
        case _:
            yield tree.Unsupported(_named(own.get("block_type") or kind or "block that is not shared"))
            yield from _text_and_children(block)


def _link(block: Json, kind: str, own: Json) -> tuple[str, str] | None:
    """Return the text and the address of a block that leads elsewhere."""
    match kind:
        case "video" | "audio" | "pdf" | "file":
            url = own[own["type"]]["url"]
            return plain(own.get("caption")) or own.get("name") or url, url
        case "bookmark" | "embed" | "link_preview":
            return plain(own.get("caption")) or own["url"], own["url"]
        case "child_page" | "child_database":
            return own["title"] or "Untitled", _at(block["id"])
        case "link_to_page":
            return _at(own[own["type"]]), _at(own[own["type"]])
        case _:
            return None


def _text_and_children(block: Json) -> tree.Blocks:
    """Return a block's own text, then its nested blocks."""
    return (*_text(block.get(block.get("type", ""), {})), *_children(block))


def _text(own: Json) -> Iterator[tree.Block]:
    runs = runs_of(own.get("rich_text") or own.get("title") or [])
    if runs:
        yield tree.Paragraph(runs)


def _children(block: Json) -> tree.Blocks:
    if has_nested_blocks(block) and "children" not in block:
        return (tree.Unsupported(f"what is inside {block['id']}"),)
    return tree_of(block.get("children", []))


def _paragraph(block: Json, own: Json) -> Iterator[tree.Block]:
    yield from _text(own)
    if has_nested_blocks(block):
        yield tree.Unsupported("indentation")
        yield from _children(block)


def _heading(block: Json, own: Json) -> Iterator[tree.Block]:
    if own.get("is_toggleable") or has_nested_blocks(block):
        yield tree.Unsupported("toggle")
    yield tree.Heading(int(block["type"][-1]), runs_of(own["rich_text"]))
    yield from _children(block)


def _code(own: Json) -> Iterator[tree.Block]:
    yield tree.Code(plain(own["rich_text"]), "" if own["language"] == PLAIN else own["language"])
    caption = runs_of(own.get("caption", []))
    if caption:
        yield tree.Paragraph((*caption, tree.Unsupported("caption")))


def _rows(rows: Iterable[Json]) -> tree.TableBlock:
    return tree.TableBlock(tuple(tuple(map(runs_of, row["table_row"]["cells"])) for row in rows))


def _at(id_: str) -> str:
    return f"https://www.notion.so/{id_.replace('-', '')}"


def _named(kind: str) -> str:
    return kind.replace("_", " ")
