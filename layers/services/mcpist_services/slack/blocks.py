"""Markdown as a message's blocks: rich text, in which a text is nothing but text, with a divider for each rule.

Reference: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.markdown import tree
from mcpist.markdown.writer import lines_of, plain_text
from mcpist_services.slack.mrkdwn import ADDRESS, BROADCASTS, lost_error, mrkdwn

MAX_BLOCKS = 50
MAX_LIST_INDENT = 8

type Json = dict[str, Any]

_STYLES: dict[tree.Mark, str] = {"strong": "bold", "emphasis": "italic", "strike": "strike", "code": "code"}
_BOXES = {True: "☑ ", False: "☐ "}


def message(parsed: tree.Blocks) -> Json:
    """Return the fields of a message: its blocks, and its text for notifications."""
    text = mrkdwn(parsed)  # it also refuses mentions that Slack does not know
    blocks = blocks_of(parsed)
    if not blocks:
        raise InvalidRequest(field="markdown", problem="it has no text")
    if len(blocks) > MAX_BLOCKS:
        raise InvalidRequest(field="markdown", problem=f"a message has at most {MAX_BLOCKS} parts between rules")
    return {"text": text or "---", "blocks": blocks}


def blocks_of(parsed: tree.Blocks) -> list[Json]:
    """Return a tree as blocks."""
    blocks: list[Json] = []
    for is_rule, group in groupby(parsed, lambda block: isinstance(block, tree.Rule)):
        if is_rule:
            blocks += [{"type": "divider"} for _ in group]
        elif elements := list(_elements(list(group))):
            blocks.append({"type": "rich_text", "elements": elements})
    return blocks


def _elements(blocks: list[tree.Block]) -> Iterator[Json]:
    """Yield the elements of a rich text; between two paragraphs there is an empty line."""
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        match block:
            case tree.Paragraph(runs):
                yield _section(runs, gap=isinstance(after, tree.Paragraph | tree.Heading))
            case tree.Heading(_, runs):
                yield _section(tuple(map(_bold, runs)), gap=isinstance(after, tree.Paragraph | tree.Heading))
            case tree.Code(text):
                yield {"type": "rich_text_preformatted", "elements": [_plain(text)] if text else []}
            case tree.Quote(inner):
                yield {"type": "rich_text_quote", "elements": list(_inline(tree.joined(lines_of(inner))))}
            case tree.List():
                yield from _list(block, 0)
            case tree.Unsupported():
                raise lost_error(block)
            case tree.TableBlock(rows):
                lines = (" | ".join(map(plain_text, row)) for row in rows)
                yield {"type": "rich_text_preformatted", "elements": [_plain("\n".join(lines))]}


def _section(runs: tree.Runs, *, gap: bool = False) -> Json:
    elements = list(_inline(runs))
    return {"type": "rich_text_section", "elements": [*elements, *([_plain("\n")] if gap else [])]}


def _list(block: tree.List, indent: int) -> Iterator[Json]:
    """Yield a list as Slack has it: flat, with a list of its own for each stretch of equal indentation."""
    style = "bullet" if block.start is None else "ordered"
    waiting: list[Json] = []
    begin = (block.start or 1) - 1
    for place, item in enumerate(block.items):
        own = [inner for inner in item.blocks if not isinstance(inner, tree.List)]
        nested = [inner for inner in item.blocks if isinstance(inner, tree.List)]
        box = () if item.done is None else (tree.TextRun(_BOXES[item.done]),)
        waiting.append(_section((*box, *tree.joined(lines_of(own)))))
        if nested or place == len(block.items) - 1:
            yield _flat(style, indent, begin, waiting)
            begin, waiting = begin + len(waiting), []
        for inner in nested:
            yield from _list(inner, min(indent + 1, MAX_LIST_INDENT))


def _flat(style: str, indent: int, offset: int, sections: list[Json]) -> Json:
    element = {"type": "rich_text_list", "style": style, "indent": indent, "elements": sections}
    return element | ({"offset": offset} if style == "ordered" and offset > 0 else {})


def _bold(run: tree.Run) -> tree.Run:
    return tree.TextRun(run.text, run.marks | {"strong"}, run.link) if isinstance(run, tree.TextRun) else run


def _inline(runs: Iterable[tree.Run]) -> Iterator[Json]:
    for run in runs:
        match run:
            case tree.TextRun(text, marks, link) if text:
                style = {_STYLES[mark]: True for mark in sorted(marks)}
                yield from _text(text, link, {"style": style} if style else {})
            case tree.Image(source, alt):
                yield from _text(alt or source, source, {})
            case tree.Mention(id_):
                yield _mention(id_)
            case tree.Break():
                yield _plain("\n")
            case tree.Unsupported():
                raise lost_error(run)


def _text(text: str, link: str, style: Json) -> Iterator[Json]:
    if not link:
        yield _plain(text) | style
    elif ADDRESS.fullmatch(link):
        yield {"type": "link", "url": link, "text": text} | style
    else:
        yield _plain(text if text == link else f"{text} ({link})") | style


def _mention(id_: str) -> Json:
    if id_ in BROADCASTS:
        return {"type": "broadcast", "range": id_}
    kind = {"S": "usergroup", "U": "user", "W": "user"}.get(id_[0], "channel")
    return {"type": kind, f"{kind}_id": id_}


def _plain(text: str) -> Json:
    return {"type": "text", "text": text}
