"""From Notion's blocks to a Markdown tree.

Reference: https://developers.notion.com/reference/block

Colours, and the looks of tables and columns, are dropped. A block that Markdown cannot express becomes its text beside
Unsupported with its name: so it can be read, but is never written back as something else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from mcpist.markdown import tree
from mcpist_services.notion.languages import PLAIN
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

type BlockReader = Callable[[Json, Json], Iterator[tree.Block]]


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
    kind = block.get("type", "block that is not shared")
    return _READERS.get(kind, _other)(block, block.get(kind, {}))


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


def _code(_: Json, own: Json) -> Iterator[tree.Block]:
    yield tree.Code(plain(own["rich_text"]), "" if own["language"] == PLAIN else own["language"])
    caption = runs_of(own.get("caption", []))
    if caption:
        yield tree.Paragraph((*caption, tree.Unsupported("caption")))


def _equation(_: Json, own: Json) -> Iterator[tree.Block]:
    yield tree.Code(own["expression"], "math")


def _divider(_: Json, __: Json) -> Iterator[tree.Block]:
    yield tree.Rule()


def _quote(block: Json, _: Json) -> Iterator[tree.Block]:
    yield tree.Quote(_text_and_children(block))


def _table(block: Json, own: Json) -> Iterator[tree.Block]:
    if "children" not in block:
        yield from _other(block, own)
        return
    head = () if own["has_column_header"] else (((),) * own["table_width"],)
    yield tree.TableBlock((*head, *_rows(block["children"]).rows))


def _rows(rows: Iterable[Json]) -> tree.TableBlock:
    return tree.TableBlock(tuple(tuple(map(runs_of, row["table_row"]["cells"])) for row in rows))


def _toggle(block: Json, _: Json) -> Iterator[tree.Block]:
    yield from (tree.Unsupported("toggle"), tree.List((tree.Item(_text_and_children(block)),)))


def _callout(block: Json, own: Json) -> Iterator[tree.Block]:
    icon = (own.get("icon") or {}).get("emoji")
    words = _text_and_children(block)
    yield from (
        tree.Unsupported("callout"),
        tree.Quote((tree.Paragraph((tree.TextRun(icon),)), *words) if icon else words),
    )


def _columns(block: Json, _: Json) -> Iterator[tree.Block]:
    yield tree.Unsupported("columns")
    yield from _children(block)


def _column(block: Json, _: Json) -> Iterator[tree.Block]:
    yield from _children(block)


def _image(_: Json, own: Json) -> Iterator[tree.Block]:
    picture = tree.Image(own[own["type"]]["url"], plain(own.get("caption")))
    # The URL of an uploaded image expires within an hour, so it must not be written back.
    yield tree.Paragraph((picture,) if own["type"] == "external" else (picture, tree.Unsupported("uploaded image")))


def _file(block: Json, own: Json) -> Iterator[tree.Block]:
    url = own[own["type"]]["url"]
    yield _link(plain(own.get("caption")) or own.get("name") or url, url, block["type"])


def _address(block: Json, own: Json) -> Iterator[tree.Block]:
    yield _link(plain(own.get("caption")) or own["url"], own["url"], block["type"])


def _place(block: Json, own: Json) -> Iterator[tree.Block]:
    yield _link(own["title"] or "Untitled", _at(block["id"]), block["type"])


def _to_page(block: Json, own: Json) -> Iterator[tree.Block]:
    url = _at(own[own["type"]])
    yield _link(url, url, block["type"])


def _other(block: Json, own: Json) -> Iterator[tree.Block]:
    yield tree.Unsupported(_named(own.get("block_type") or block.get("type") or "block that is not shared"))
    yield from _text_and_children(block)


def _link(text: str, url: str, kind: str) -> tree.Block:
    runs: tuple[tree.Run, ...] = (tree.TextRun(text, link=url), tree.Unsupported(_named(kind)))
    return tree.Paragraph(runs)


def _at(id_: str) -> str:
    return f"https://www.notion.so/{id_.replace('-', '')}"


def _named(kind: str) -> str:
    return kind.replace("_", " ")


_READERS: Mapping[str, BlockReader] = {
    "paragraph": _paragraph,
    "heading_1": _heading,
    "heading_2": _heading,
    "heading_3": _heading,
    "heading_4": _heading,
    "code": _code,
    "equation": _equation,
    "divider": _divider,
    "quote": _quote,
    "table": _table,
    "toggle": _toggle,
    "callout": _callout,
    "column_list": _columns,
    "column": _column,
    "image": _image,
    "video": _file,
    "audio": _file,
    "pdf": _file,
    "file": _file,
    "bookmark": _address,
    "embed": _address,
    "link_preview": _address,
    "child_page": _place,
    "child_database": _place,
    "link_to_page": _to_page,
}
