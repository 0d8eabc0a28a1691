"""The form of a tree that Confluence can hold."""

import re
from collections.abc import Iterator
from itertools import groupby

from mcpist.markdown.normal_form import normalize
from mcpist.markdown.tree import (
    Block,
    Blocks,
    Code,
    Heading,
    Image,
    Item,
    List,
    Mention,
    Paragraph,
    Quote,
    Run,
    Runs,
    TableBlock,
    TextRun,
    Unsupported,
)
from mcpist_services.confluence.markup import Element
from mcpist_services.confluence.vocabulary import DATE, address, resource


def without_lost(blocks: Blocks) -> Iterator[Block]:
    """The tree without the names of what is lost."""
    for block in normalize(blocks):
        match block:
            case Unsupported():
                pass
            case Paragraph(runs):
                yield Paragraph(known(runs))
            case Heading(level, runs):
                yield Heading(level, known(runs))
            case Quote(inner):
                yield Quote(tuple(without_lost(inner)))
            case List(items, start):
                yield List(tuple(Item(tuple(without_lost(item.blocks)), item.done) for item in items), start)
            case TableBlock(rows):
                yield TableBlock(tuple(tuple(known(cell) for cell in row) for row in rows))
            case _:
                yield block


def known(runs: Runs) -> Runs:
    return tuple(run for run in runs if not isinstance(run, Unsupported))


def held(blocks: Blocks) -> Blocks:
    return normalize(tuple(_held(normalize(blocks))))


def _held(blocks: Blocks) -> Iterator[Block]:
    for block in blocks:
        match block:
            case Paragraph(runs):
                yield Paragraph(_runs(runs))
            case Heading(level, runs):
                yield Heading(level, _runs(runs))
            case Code(text, language):
                yield Code(re.sub("[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text), language)
            case Quote(inner) if inner := held(inner):
                yield Quote(inner)
            case Quote():
                pass
            case List(items, start):
                yield from _lists(items, start)
            case TableBlock(rows):
                yield TableBlock(tuple(tuple(map(_runs, row)) for row in rows))
            case _:
                yield block


def _lists(items: tuple[Item, ...], start: int | None) -> Iterator[List]:
    for is_tasks, group in groupby(enumerate(items), lambda entry: entry[1].done is not None):
        entries = list(group)
        number = None if is_tasks or start is None else start + entries[0][0]
        yield List(tuple(Item(held(item.blocks), item.done) for _, item in entries), number)


def _runs(runs: Runs) -> Runs:
    kept: list[Run] = []
    for link_, group in groupby(runs, lambda run: run.link if isinstance(run, TextRun) else ""):
        if date := DATE.fullmatch(link_):
            kept.append(TextRun(date[1], link=link_))
        else:
            kept += [_run(run) for run in group]
    return tuple(_spaced(kept))


def _spaced(runs: list[Run]) -> Iterator[Run]:
    """Runs with one space where there were several, also across runs."""
    before: Run | None = None
    for run in runs:
        said = run
        if isinstance(run, TextRun) and "code" not in run.marks:
            text = re.sub("[ \t]+", " ", run.text)
            text = text.lstrip(" ") if isinstance(before, TextRun) and before.text.endswith(" ") else text
            said = TextRun(text, run.marks, run.link)
        if not (isinstance(said, TextRun) and not said.text):
            before = said
            yield said


def _run(run: Run) -> Run:
    match run:
        case TextRun(text, marks, link_):
            return TextRun(text.replace("\t", " ") if "code" in marks else text, marks, _address(link_))
        case Mention(id_):
            return Mention(id_)
        case Image("", alt):
            return TextRun(alt)
        case Image(source, alt):
            return Image(_address(source) if source.startswith("attachment:") else source, alt)
        case _:
            return run


def _address(link_: str) -> str:
    """The way in which an address is written that stands for something else than an address."""
    target = resource(link_)
    if target is None:
        return link_
    name, attributes, anchor = target
    return address(Element(name, attributes) if name else None, anchor)[0]
