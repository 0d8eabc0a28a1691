"""A message as Markdown: from its blocks where all of them are understood, else from its text.

Reference: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from mcpist.markdown import tree
from mcpist.markdown.writer import write
from mcpist_services.slack.mrkdwn import read_mrkdwn

type Json = dict[str, Any]

_MARKS: dict[str, tree.Mark] = {"bold": "strong", "italic": "emphasis", "strike": "strike", "code": "code"}


def message_markdown(message: Json) -> str:
    """Return a message's text as Markdown; what its attachments say follows."""
    blocks = _blocks(message.get("blocks") or []) or read_mrkdwn(message.get("text") or "")
    attached = (one.get("text") or one.get("fallback") or "" for one in message.get("attachments") or [])
    return write((*blocks, *(block for text in attached for block in read_mrkdwn(text))))


def _blocks(blocks: list[Json]) -> tree.Blocks:
    """Return the tree of blocks; nothing where one is of another kind, whose text the message's own repeats."""
    found: list[tree.Block] = []
    for block in blocks:
        match block:
            case {"type": "rich_text", "elements": list(elements)}:
                found += tree_of(elements)
            case {"type": "section", "text": {"type": "mrkdwn", "text": str(text)}}:
                found += read_mrkdwn(text)
            case {"type": "header", "text": {"text": str(text)}}:
                found.append(tree.Paragraph((tree.TextRun(text, frozenset({"strong"})),)))
            case {"type": "divider"}:
                found.append(tree.Rule())
            case _:
                return ()
    return tuple(found)


def tree_of(elements: list[Json]) -> tree.Blocks:
    """Return the tree of a rich text's elements."""
    found: list[tree.Block] = []
    for kind, group in groupby(elements, lambda element: element["type"]):
        some = list(group)
        if kind == "rich_text_list":
            found += _lists(some, 0)
            continue
        for element in some:
            found += _element(element)
    return tuple(found)


def _element(element: Json) -> Iterator[tree.Block]:
    runs = _section_runs(element)
    match element["type"]:
        case "rich_text_section":
            yield from _paragraphs(runs)
        case "rich_text_quote":
            yield tree.Quote(tuple(_paragraphs(runs)))
        case "rich_text_preformatted":
            yield tree.Code("".join(run.text if isinstance(run, tree.TextRun) else "\n" for run in runs))
        case kind:
            yield tree.Unsupported(str(kind))


def _lists(elements: list[Json], indent: int) -> Iterator[tree.Block]:
    """Yield the lists of one indentation; deeper ones are in the last item before them."""
    lists: list[tuple[str, int, list[tree.Item]]] = []
    for is_deeper, group in groupby(elements, lambda element: element.get("indent", 0) > indent):
        if is_deeper:
            nested = tuple(_lists(list(group), indent + 1))
            if lists:
                last = lists[-1][2].pop()
                lists[-1][2].append(tree.Item((*last.blocks, *nested), last.done))
            else:
                yield from nested
            continue
        for element in group:
            style, offset = str(element.get("style")), element.get("offset", 0)
            items = [tree.Item(tuple(_paragraphs(_section_runs(one)))) for one in element.get("elements", [])]
            if lists and lists[-1][0] == style and (style != "ordered" or offset == lists[-1][1] + len(lists[-1][2])):
                lists[-1][2].extend(items)
            else:
                lists.append((style, offset, items))
    for style, offset, items in lists:
        yield tree.List(tuple(items), offset + 1 if style == "ordered" else None)


def _section_runs(section: Json) -> tree.Runs:
    return tuple(run for one in section.get("elements", []) for run in _runs(one))


def _paragraphs(runs: Iterable[tree.Run]) -> Iterator[tree.Paragraph]:
    """Yield the paragraphs of a section: an empty line ends one."""
    kept: list[tree.Run] = []
    breaks = 0
    for run in runs:
        if isinstance(run, tree.Break):
            breaks += 1
            continue
        if breaks > 1 and kept:
            yield tree.Paragraph(tuple(kept))
            kept = []
        kept += [tree.Break()] if breaks == 1 and kept else []
        kept.append(run)
        breaks = 0
    if kept:
        yield tree.Paragraph(tuple(kept))


def _runs(element: Json) -> Iterator[tree.Run]:
    marks = frozenset(mark for style, mark in _MARKS.items() if (element.get("style") or {}).get(style))
    match element:
        case {"type": "text", "text": str(text)}:
            for place, line in enumerate(text.split("\n")):
                yield from ([tree.Break()] if place else [])
                yield from ([tree.TextRun(line, marks)] if line else [])
        case {"type": "link", "url": str(url)}:
            yield tree.TextRun(element.get("text") or url, marks, url)
        case {"type": "user", "user_id": str(id_)} | {"type": "channel", "channel_id": str(id_)}:
            yield tree.Mention(id_, id_)
        case {"type": "usergroup", "usergroup_id": str(id_)} | {"type": "broadcast", "range": str(id_)}:
            yield tree.Mention(id_, id_)
        case {"type": "emoji", "name": str(name)}:
            yield tree.TextRun(f":{name}:", marks)
        case {"type": "color", "value": str(value)} | {"type": "date", "fallback": str(value)}:
            yield tree.TextRun(value, marks)
        case _:
            yield tree.Unsupported(str(element.get("type")))
