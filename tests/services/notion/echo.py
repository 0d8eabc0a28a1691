"""Notion as it answers blocks that were appended, and what it holds of a tree."""

from collections.abc import Iterable, Iterator
from itertools import count, groupby
from typing import Any

from mcpist.markdown.tree import (
    Block,
    Blocks,
    Break,
    Code,
    Heading,
    Image,
    Item,
    List,
    Mention,
    Paragraph,
    Quote,
    Rule,
    Run,
    Runs,
    TableBlock,
    TextRun,
)
from mcpist_services.notion.blocks import PLAIN, language_of
from tests.services.answers.notion import block, text

_numbers = count(1)


def echoed(blocks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks of a request as Notion answers them, with those inside."""
    return [_echoed(each) for each in blocks]


def held(blocks: Blocks) -> Blocks:
    """What Notion holds of a normal tree: the form that blocks.py describes."""
    made = [found for each in blocks for found in _held(each)]
    merged: list[Block] = []
    for each in made:
        last = merged[-1] if merged else None
        if isinstance(each, List) and isinstance(last, List) and each.start == last.start:
            merged[-1] = List(last.items + each.items, each.start)
        else:
            merged.append(each)
    return tuple(merged)


def _echoed(made: dict[str, Any]) -> dict[str, Any]:
    kind = made["type"]
    own = dict(made[kind])
    children = own.pop("children", [])
    for name in own.keys() & {"rich_text", "caption"}:
        own[name] = [_text(each) for each in own[name]]
    if kind == "table_row":
        own["cells"] = [[_text(each) for each in cell] for cell in own["cells"]]
    answer = block(kind, next(_numbers), inside=bool(children), **own)
    return answer | ({"children": echoed(children)} if children else {})


def _text(made: dict[str, Any]) -> dict[str, Any]:
    if made["type"] == "text":
        link = made["text"].get("link") or {}
        return text(made["text"]["content"], link.get("url"), **made.get("annotations", {}))
    return {**text("@someone"), "type": "mention", "mention": made["mention"]}


def _held(found: Block) -> Iterator[Block]:
    match found:
        case Paragraph(runs):
            for pictures, part in groupby(runs, lambda run: isinstance(run, Image)):
                group = tuple(part)
                some = [(run,) for run in group] if pictures else [_named(_stripped(group))]
                yield from (Paragraph(each) for each in some if each)
        case Heading(level, runs):
            yield Heading(min(level, 4), _named(runs))
        case Code(code, language):
            known = language if language == "math" and len(code) <= 1000 else language_of(language)
            yield Code(code, "" if known == PLAIN else known)
        case Quote(blocks):
            yield Quote(held(blocks))
        case List(items, start):
            for item in items:
                yield List((Item(held(item.blocks), item.done),), None if item.done is not None or start is None else 1)
        case TableBlock(rows):
            cells = tuple(tuple(map(_named, row)) for row in rows)
            yield TableBlock(cells if any(cells[0]) or len(cells) > 1 else cells * 2)
        case Rule():
            yield found


def _named(runs: Runs) -> Runs:
    """Mentions by the name that Notion knows, pictures as links, and neighbours of one style together."""
    plain: list[Run] = []
    for run in runs:
        match run:
            case Mention(id_):
                plain.append(Mention(id_, "someone"))
            case Image(source, alt):
                plain.append(TextRun(alt or source, link=source))
            case _:
                plain.append(run)
    merged: list[Run] = []
    for run in plain:
        last = merged[-1] if merged else None
        if isinstance(run, TextRun) and isinstance(last, TextRun) and (run.marks, run.link) == (last.marks, last.link):
            merged[-1] = TextRun(last.text + run.text, run.marks, run.link)
        else:
            merged.append(run)
    return tuple(merged)


def _stripped(runs: Runs) -> Runs:
    kept = list(runs)
    while kept and isinstance(kept[0], Break):
        kept.pop(0)
    while kept and isinstance(kept[-1], Break):
        kept.pop()
    return tuple(kept)
