"""From Atlassian's document format to the tree of Markdown.

Reference: https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/

What Markdown cannot express is marked Unsupported: a panel, an expand or an extension before its contents, which are
kept; a style such as a colour or underlining once, after its paragraph. A card becomes a link; an emoji, a date and a
status become text. Empty paragraphs, widths and layouts are dropped. A table without a header gets an empty one.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby

from mcpist.markdown import tree
from mcpist.markdown.grid import Cell, flat, grid
from mcpist.markdown.normal_form import normalize
from mcpist_services.jira.writing import MARKS, Node

MAX_SPAN = 100  # of a merged cell: a document may claim any number

_STYLES = {name: mark for mark, name in MARKS.items()}
_INLINE = {"date", "emoji", "hardBreak", "inlineCard", "inlineExtension", "mediaInline", "mention", "placeholder"}
_INLINE |= {"status", "text"}


def from_adf(document: Node) -> tree.Blocks:
    """Return the tree of a document, in its normal form."""
    return normalize(tuple(_blocks(_content(document))))


def _blocks(nodes: Iterable[Node]) -> Iterator[tree.Block]:
    for inline, group in groupby(nodes, lambda node: node.get("type") in _INLINE):
        if inline:
            yield tree.Paragraph(_runs(list(group)))
        else:
            for node in group:
                yield from _block(node)


def _block(node: Node) -> Iterator[tree.Block]:
    attrs, content = _attrs(node), _content(node)
    match node.get("type"):
        case "paragraph":
            yield tree.Paragraph(_runs(content, node))
        case "heading":
            yield tree.Heading(attrs.get("level", 1), _runs(content, node))
        case "codeBlock":
            yield tree.Code("".join(text.get("text", "") for text in content), attrs.get("language") or "")
        case "blockquote":
            yield tree.Quote(tuple(_blocks(content)))
        case "bulletList" | "decisionList":
            yield from _lost_name(node)
            yield tree.List(_entries(content))
        case "orderedList":
            yield tree.List(_entries(content), int(attrs.get("order", 1)))
        case "taskList":
            yield tree.List(_tasks(content))
        case "table":
            yield _table(content)
        case "rule":
            yield tree.Rule()
        case _:
            yield from _lost_name(node)
            yield from _contents_of(node)


def _lost_name(node: Node) -> Iterator[tree.Unsupported]:
    """Yield the name of a node of which the tree keeps only the contents."""
    match node.get("type"):
        case "bulletList" | "mediaSingle" | "mediaGroup" | "media" | "caption" | "blockCard" | "embedCard":
            return
        case "panel":
            yield tree.Unsupported(f"{_attrs(node).get('panelType', '')} panel")
        case "decisionList":
            yield tree.Unsupported("decisions")
        case "nestedExpand":
            yield tree.Unsupported("expand")
        case name:
            yield tree.Unsupported(name or "a nameless part")


def _contents_of(node: Node) -> Iterator[tree.Block]:
    attrs, content = _attrs(node), _content(node)
    match node.get("type"):
        case "media":
            yield tree.Paragraph((_picture(attrs),))
        case "blockCard" | "embedCard" as name:
            yield tree.Paragraph((_card(name, attrs),))
        case "panel":
            yield tree.Quote(tuple(_blocks(content)))
        case _:
            yield tree.Paragraph((tree.TextRun(attrs.get("title") or "", frozenset({"strong"})),))
            yield from _blocks(content)


def _entries(nodes: list[Node]) -> tuple[tree.Item, ...]:
    return tuple(tree.Item(tuple(_blocks(_content(node)))) for node in nodes)


def _tasks(nodes: list[Node]) -> tuple[tree.Item, ...]:
    """Return tasks; the subtasks of one are a nested list in it."""
    items: list[tree.Item] = []
    for node in nodes:
        if node.get("type") == "taskList":
            above = items.pop() if items else tree.Item((), done=False)
            items.append(tree.Item((*above.blocks, *_block(node)), above.done))
        else:
            done = _attrs(node).get("state") == "DONE"
            items.append(tree.Item(tuple(_blocks(_content(node))), done))
    return tuple(items)


def _table(rows: list[Node]) -> tree.TableBlock:
    head = bool(rows) and all(cell.get("type") == "tableHeader" for cell in _content(rows[0]))
    cells = tuple(grid(map(_cell, _content(row)) for row in rows))
    return tree.TableBlock(cells if head else ((), *cells))


def _cell(cell: Node) -> Cell:
    attrs = _attrs(cell)
    wide, high = (min(max(int(attrs.get(span) or 1), 1), MAX_SPAN) for span in ("colspan", "rowspan"))
    merged = (tree.Unsupported("merged cells"),) if wide * high > 1 else ()
    return Cell((*flat(_blocks(_content(cell)), lambda _: "•"), *merged), wide, high)


def _runs(nodes: list[Node], block: Node | None = None) -> tree.Runs:
    """Return inline text, followed by the names of its styles that the tree cannot hold."""
    runs = [_run(node) for node in nodes]
    marked = [*([block] if block else ()), *nodes]
    styles = [mark.get("type", "") for node in marked for mark in node.get("marks") or ()]
    return (
        *runs,
        *(tree.Unsupported(style) for style in dict.fromkeys(styles) if style not in _STYLES and style != "link"),
    )


def _run(node: Node) -> tree.Run:
    attrs = _attrs(node)
    match node.get("type"):
        case "text":
            marks = {mark.get("type", ""): mark.get("attrs") or {} for mark in node.get("marks") or ()}
            style = frozenset(_STYLES[name] for name in marks if name in _STYLES)
            return tree.TextRun(node.get("text", ""), style, marks.get("link", {}).get("href", ""))
        case "hardBreak":
            return tree.Break()
        case "mention":
            return tree.Mention(attrs.get("id", ""), (attrs.get("text") or "").removeprefix("@"))
        case "emoji":
            return tree.TextRun(attrs.get("text") or attrs.get("shortName", ""))
        case "status":
            return tree.TextRun(attrs.get("text", ""))
        case "date":
            return _date(attrs)
        case "inlineCard" as name:
            return _card(name, attrs)
        case name:
            return tree.Unsupported(name or "a nameless part")


def _date(attrs: Node) -> tree.Run:
    try:
        return tree.TextRun(datetime.fromtimestamp(int(attrs["timestamp"]) / 1000, UTC).date().isoformat())
    except (KeyError, OSError, OverflowError, ValueError):
        return tree.Unsupported("date")


def _card(name: str, attrs: Node) -> tree.Run:
    url = attrs.get("url") or (attrs.get("data") or {}).get("url")
    return tree.TextRun(url, link=url) if url else tree.Unsupported(name)


def _picture(attrs: Node) -> tree.Run:
    if attrs.get("type") == "external":
        return tree.Image(attrs.get("url", ""), attrs.get("alt") or "")
    return tree.Unsupported(f"attached file {attrs.get('alt') or ''}")


def _content(node: Node) -> list[Node]:
    return node.get("content") or []


def _attrs(node: Node) -> Node:
    return node.get("attrs") or {}
