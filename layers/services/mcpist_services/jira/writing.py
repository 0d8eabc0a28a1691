"""From the tree of Markdown to Atlassian's document format.

Reference: https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/
"""

from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from mcpist.errors import InvalidRequest
from mcpist.markdown import tree
from mcpist_services.jira.normalization import is_picture, is_tasks, shaped

MARKS: dict[tree.Mark, str] = {"strong": "strong", "emphasis": "em", "strike": "strike", "code": "code"}

type Node = dict[str, Any]
type Ids = Iterator[str]


def to_adf(blocks: tree.Blocks, field: str, seed: str = "") -> Node:
    """Return the document; InvalidRequest for parts that the tree only names. The ids of tasks derive from `seed`."""
    for name in _lost_names(blocks):
        problem = f"{name} would be deleted by the new text: to accept that, remove its marker"
        raise InvalidRequest(field=field, problem=problem)
    # The same text has the same ids, so that a dry run shows the very request.
    ids = (str(uuid5(NAMESPACE_OID, f"{seed}#{number}".encode(errors="replace"))) for number in count(1))
    return {"type": "doc", "version": 1, "content": [_node(block, ids) for block in shaped(blocks)]}


def _lost_names(part: Any) -> Iterator[str]:
    match part:
        case tree.Unsupported(name):
            yield name
        case tuple():
            for inner in part:
                yield from _lost_names(inner)
        case (
            tree.Paragraph(inner)
            | tree.Heading(_, inner)
            | tree.Quote(inner)
            | tree.List(inner)
            | tree.Item(inner)
            | tree.TableBlock(inner)
        ):
            yield from _lost_names(inner)


def _node(block: tree.Block, ids: Ids) -> Node:
    match block:
        case tree.Paragraph((tree.Image(source, alt),)) if is_picture(block):
            attrs = {"type": "external", "url": source} | ({"alt": alt} if alt else {})
            return _with_content([{"type": "media", "attrs": attrs}], "mediaSingle", layout="center")
        case tree.Paragraph(runs):
            return _with_content(_inline(runs), "paragraph")
        case tree.Heading(level, runs):
            return _with_content(_inline(runs), "heading", level=level)
        case tree.Code(text, language):
            lines = [{"type": "text", "text": text}] if text else []
            return _with_content(lines, "codeBlock", language=language or None)
        case tree.Quote(blocks):
            return _with_content([_node(inner, ids) for inner in blocks], "blockquote")
        case tree.List():
            return _list(block, ids)
        case tree.TableBlock(rows):
            return _table(rows)
        case tree.Rule():
            return {"type": "rule"}
        case tree.Unsupported(name):
            raise TypeError(f"{name} should have been refused")


def _list(block: tree.List, ids: Ids) -> Node:
    if is_tasks(block):
        own = next(ids)
        return _with_content([node for item in block.items for node in _task(item, ids)], "taskList", localId=own)
    name = "bulletList" if block.start is None else "orderedList"
    order = None if block.start == 1 else block.start
    return _with_content([_list_item(item, ids) for item in block.items], name, order=order)


def _table(rows: tuple[tuple[tree.Runs, ...], ...]) -> Node:
    """Return a table; a header row of empty cells means that there is no header."""
    head, *others = rows
    heads = [_row(head, "tableHeader")] if any(head) or not others else []
    return _with_content([*heads, *(_row(cells, "tableCell") for cells in others)], "table")


def _with_content(content: list[Node], name: str, **attrs: Any) -> Node:
    present = {key: value for key, value in attrs.items() if value is not None}
    return {"type": name, **({"attrs": present} if present else {}), "content": content}


def _list_item(item: tree.Item, ids: Ids) -> Node:
    """Return a list item, which must begin with a paragraph or code, even an empty one."""
    content = [_node(block, ids) for block in item.blocks]
    if not item.blocks or isinstance(item.blocks[0], tree.List):
        content = [_with_content([], "paragraph"), *content]
    return _with_content(content, "listItem")


def _task(item: tree.Item, ids: Ids) -> Iterator[Node]:
    """Yield a task, then its subtasks as its siblings."""
    line, subtasks = item.blocks[:1], item.blocks[1:]
    runs = line[0].runs if line and isinstance(line[0], tree.Paragraph) else ()
    yield _with_content(_inline(runs), "taskItem", localId=next(ids), state="DONE" if item.done else "TODO")
    yield from (_node(block, ids) for block in (subtasks if runs else item.blocks))


def _row(cells: tuple[tree.Runs, ...], name: str) -> Node:
    nodes = [_with_content([_with_content(_inline(runs), "paragraph")], name) for runs in cells]
    return _with_content(nodes, "tableRow")


def _inline(runs: tree.Runs) -> list[Node]:
    return [_run_node(run) for run in runs]


def _run_node(run: tree.Run) -> Node:
    match run:
        case tree.TextRun(text, marks, link):
            styles = [{"type": "link", "attrs": {"href": link}}] if link else []
            styles += [{"type": name} for mark, name in MARKS.items() if mark in marks]
            return {"type": "text", "text": text} | ({"marks": styles} if styles else {})
        case tree.Mention(id_, name):
            return {"type": "mention", "attrs": {"id": id_} | ({"text": f"@{name}"} if name else {})}
        case tree.Break():
            return {"type": "hardBreak"}
        case tree.Image() | tree.Unsupported():
            raise TypeError(f"{run} should have become a link, or been refused")
