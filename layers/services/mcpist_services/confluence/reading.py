"""From storage format to the tree of Markdown.

Reference: https://confluence.atlassian.com/doc/confluence-storage-format-790796544.html

What the tree cannot hold is marked Unsupported in its place, and its text is kept: a macro's contents in a quote,
columns one after another, a list in a cell line by line; colours, underlining and the like are named once, after the
paragraph. Panels and expands become quotes that begin with `[!info]` and a strong title; dates, mentions, and links to
pages and files become links. Ids, widths, alignments, the colours of cells and empty paragraphs are dropped.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from mcpist.markdown import tree
from mcpist.markdown.grid import Cell, grid
from mcpist.markdown.normal_form import normalize
from mcpist.toml_table import toml_beside
from mcpist_services.confluence import vocabulary
from mcpist_services.confluence.cells import PLAIN, BlockBuilder, Style, is_blank, lines, rows_of
from mcpist_services.confluence.markup import Element, parse
from mcpist_services.confluence.originals import CODE, mark_of

MAX_COLUMNS = 100  # so that one long row cannot lengthen all others
_MARKS: dict[str, tree.Mark] = {"strong": "strong", "b": "strong", "em": "emphasis", "i": "emphasis"}
_MARKS |= {"del": "strike", "s": "strike", "strike": "strike"}
_MARKS |= {"code": "code", "tt": "code", "kbd": "code", "samp": "code"}
_STYLES = {"u": "underline", "ins": "underline", "sub": "subscript", "sup": "superscript"}
_STYLES |= {"small": "small text", "big": "large text", "ac:inline-comment-marker": "inline comment"}
_CSS = {"background-color": "background colour", "color": "colour"}
_BLOCK_ELEMENTS = {"p", "div", "section", "center", "dl", "dt", "dd", "li", "tr", "td", "th"}
_BLOCK_ELEMENTS |= {"ac:layout", "ac:layout-cell", "ac:rich-text-body", "ac:adf-content", "ac:adf-fallback"}
_PLAIN_ELEMENTS = {"a", "abbr", "caption", "cite", "font", "q", "span", "tbody", "tfoot", "thead", "var"}


def from_storage(source: str) -> tree.Blocks:
    """Return the tree of a page or a comment, in its normal form; any markup is accepted."""
    return normalize(_blocks(parse(source), PLAIN))


def _blocks(element: Element | None, style: Style) -> tree.Blocks:
    flow = BlockBuilder()
    if element:
        _fill(flow, element, style)
    flow.end_paragraph()
    return tuple(flow.blocks)


def _fill(flow: BlockBuilder, element: Element, style: Style) -> None:
    for child in element.children:
        if isinstance(child, str):
            flow.add_text(child, style)
        else:
            _element(flow, child, style)


def _element(flow: BlockBuilder, element: Element, style: Style) -> None:
    name = element.name
    match name:
        case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
            flow.add_blocks(tree.Heading(int(name[1]), lines(_blocks(element, style), "heading")))
        case "ol":
            flow.add_blocks(tree.List(_items(element, style), _number(element, "start", 0)))
        case "ul" | "ac:task-list" | "ac:task":
            flow.add_blocks(tree.List(_items(element, style)))
        case "blockquote":
            flow.add_blocks(*([tree.Quote(blocks)] if (blocks := _blocks(element, style)) else []))
        case "pre":
            flow.add_blocks(tree.Code(element.text))
        case "hr":
            flow.add_blocks(tree.Rule())
        case _ if name in _BLOCK_ELEMENTS:
            flow.end_paragraph()
            _fill(flow, element, style)
            flow.end_paragraph()
        case _:
            _READERS.get(name, _styled)(flow, element, style)


def _styled(flow: BlockBuilder, element: Element, style: Style) -> None:
    """Add text with a style; an unknown element is named before its text."""
    name = element.name
    css = dict(part.split(":", 1) for part in element.attributes.get("style", "").lower().split(";") if ":" in part)
    css = {word.strip(): value for word, value in css.items()}
    mark = _MARKS.get(name) or ("strike" if "line-through" in css.get("text-decoration", "") else None)
    if not (name in _MARKS or name in _STYLES or name in _PLAIN_ELEMENTS):
        flow.add_runs(tree.Unsupported(name))
    _fill(flow, element, replace(style, marks=style.marks | {mark}) if mark else style)
    lost = [_STYLES.get(name, ""), *(word for known, word in _CSS.items() if known in css)]
    flow.lost |= {tree.Unsupported(word): None for word in lost if word}


def _anchor(flow: BlockBuilder, element: Element, style: Style) -> None:
    if link := element.attributes.get("href", "").strip():
        _link(flow, element, replace(style, link=link), link)
    else:
        _styled(flow, element, style)


def _link(flow: BlockBuilder, element: Element | None, style: Style, name: str) -> None:
    """Add the text of a link, or its name if it has none."""
    runs, blocks = len(flow.runs), len(flow.blocks)
    if element:
        _fill(flow, element, style)
    if len(flow.blocks) == blocks and all(map(is_blank, flow.runs[runs:])):
        flow.add_text(name, style)


def _resource_link(flow: BlockBuilder, element: Element, style: Style) -> None:
    body = element.first("ac:link-body", "ac:plain-text-link-body")
    target = next((inner for inner in element.elements if inner.name.startswith("ri:")), None)
    if target and (account := target.attributes.get("ri:account-id")):
        flow.add_runs(tree.Mention(account, body.text if body else ""))
        return
    link, name = vocabulary.address(target, element.attributes.get("ac:anchor", ""))
    _link(flow, body, replace(style, link=link) if link else style, name)
    if not link or (target and target.children):
        flow.add_runs(vocabulary.lost("link", [vocabulary.text_or_names(target)] if target else []))


def _mention(flow: BlockBuilder, element: Element, _: Style) -> None:
    account = element.attributes.get("ri:account-id", "")
    flow.add_runs(tree.Mention(account) if account else vocabulary.lost("mention", [vocabulary.text_or_names(element)]))


def _image(flow: BlockBuilder, element: Element, style: Style) -> None:
    attributes = element.attributes
    target = element.first("ri:url", "ri:attachment")
    own = target.attributes.get("ri:value") or vocabulary.address(target, "")[0] if target else ""
    source = own if target else attributes.get("src", "")
    alt = attributes.get("ac:alt") or attributes.get("alt") or attributes.get("ac:title") or ""
    flow.add_runs(tree.Image(source, alt) if source else vocabulary.lost("image", [alt]))
    if target and target.children:
        flow.add_runs(vocabulary.lost("image", [vocabulary.text_or_names(target)]))
    if style.link:
        flow.add_runs(tree.TextRun(" "), tree.TextRun(style.link, link=style.link))
    if caption := element.first("ac:caption"):
        flow.add_runs(tree.Unsupported("caption"), tree.Break(), *lines(_blocks(caption, style), "caption"))


def _date(flow: BlockBuilder, element: Element, style: Style) -> None:
    date = element.attributes.get("datetime", "")
    link = f"date:{date}"
    flow.add_text(date or element.text, Style(link=link) if vocabulary.DATE.fullmatch(link) else style)


def _emoticon(flow: BlockBuilder, element: Element, _: Style) -> None:
    name = element.attributes.get("ac:name", "")
    known = toml_beside(__file__, "emoticons.toml")
    emoji = element.attributes.get("ac:emoji-fallback") or known.get(name, f":{name}:")
    flow.add_runs(tree.Unsupported(f"emoticon {emoji}") if emoji.startswith(":") else tree.TextRun(emoji))


# -- lists and tables ---------------------------------------------------------------------------------


def _items(element: Element, style: Style) -> tuple[tree.Item, ...]:
    """Return the items of a list; content between items is added to the one before."""
    items: list[tree.Item] = []
    for child in [element] if element.name == "ac:task" else element.children:
        if isinstance(child, Element) and child.name == "ac:task":
            status = child.first("ac:task-status")
            done = status is not None and status.text.strip() == "complete"
            items.append(tree.Item(_blocks(child.first("ac:task-body"), style), done))
        elif isinstance(child, Element) and child.name == "li":
            items.append(tree.Item(_blocks(child, style)))
        elif blocks := _blocks(Element("", children=[child]), style):
            above = items.pop() if items else tree.Item(())
            items.append(replace(above, blocks=above.blocks + blocks))
    return tuple(items)


def _table(flow: BlockBuilder, element: Element, style: Style) -> None:
    """Add a table, after its contents outside of cells."""
    rows, rest = rows_of(element)
    flow.add_blocks(*_blocks(Element("", children=rest), style))
    if rows:
        texts = tuple(grid(([_cell(cell, style) for cell in row] for row in rows), MAX_COLUMNS))
        headed = all(cell.name == "th" for cell in rows[0])
        flow.add_blocks(tree.TableBlock(texts if headed else ((), *texts)))


def _cell(cell: Element, style: Style) -> Cell:
    spans = {"colspan": min(_number(cell, "colspan", 1), MAX_COLUMNS), "rowspan": _number(cell, "rowspan", 1)}
    lost = (tree.Unsupported(f"{name} {size}") for name, size in spans.items() if size > 1)
    return Cell((*lines(_blocks(cell, style), "cell"), *lost), *spans.values())


def _number(element: Element, attribute: str, minimum: int) -> int:
    text = element.attributes.get(attribute, "")
    return max(int(text), minimum) if re.fullmatch(r"[0-9]{1,10}", text) else 1


# -- macros and layouts -------------------------------------------------------------------------------


def _macro(flow: BlockBuilder, element: Element, style: Style) -> None:
    """Add a macro; an unknown one becomes its name and its contents."""
    name, parameters = element.attributes.get("ac:name", "").lower(), vocabulary.parameters_of(element)
    body, text = element.first("ac:rich-text-body"), element.first("ac:plain-text-body")
    if name in vocabulary.PANELS:
        flow.add_blocks(tree.Quote((vocabulary.panel(name, parameters), *_blocks(body, style))))
        return
    is_code = name in CODE
    language = parameters.pop("language", "") if is_code else ""
    if body and not is_code:
        flow.add_blocks(tree.Quote((mark_of(element), *_blocks(body, style))))
        return
    flow.add_runs(*(vocabulary.lost_of(name, parameters) if is_code else [mark_of(element)]))
    if text or is_code:
        flow.add_blocks(tree.Code(text.text if text else "", language))


def _extension(flow: BlockBuilder, element: Element, style: Style) -> None:
    """Add a part that only the newer editor knows: its name, and its contents or their fallback."""
    node = element.first("ac:adf-node") or element
    inner = [attribute for attribute in node.elements if attribute.name == "ac:adf-attribute"]
    parameters = {attribute.attributes.get("key", ""): attribute.text for attribute in inner}
    flow.add_runs(tree.Unsupported(vocabulary.named(node.attributes.get("type", "extension"), parameters)))
    contents = node.first("ac:adf-content")
    if contents_or_fallback := contents if contents and contents.children else element.first("ac:adf-fallback"):
        _element(flow, contents_or_fallback, style)


def _layout(flow: BlockBuilder, element: Element, style: Style) -> None:
    columns = sum(inner.name == "ac:layout-cell" for inner in element.elements)
    flow.add_blocks(*([tree.Unsupported(f"layout of {columns} columns")] if columns > 1 else []))
    _fill(flow, element, style)


_READERS: dict[str, Callable[[BlockBuilder, Element, Style], None]] = {
    "a": _anchor,
    "ac:adf-extension": _extension,
    "ac:emoticon": _emoticon,
    "ac:image": _image,
    "ac:layout-section": _layout,
    "ac:link": _resource_link,
    "ac:macro": _macro,
    "ac:placeholder": lambda flow, element, _: flow.add_runs(vocabulary.lost("placeholder", [element.text])),
    "ac:structured-macro": _macro,
    "br": lambda flow, _, __: flow.add_runs(tree.Break()),
    "col": lambda *_: None,  # holds only widths, as does the next
    "colgroup": lambda *_: None,
    "img": _image,
    "ri:user": _mention,
    "table": _table,
    "time": _date,
}
