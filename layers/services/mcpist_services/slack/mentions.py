"""Names in messages: `@aiko` mentions the one person who has this handle or name; any other name stays text.

No text mentions a channel or everybody, and code and links mention nobody.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from mcpist.markdown import tree
from mcpist.markdown.reader import read
from mcpist.tools.declare.call import Call, Calls, Work, given
from mcpist_services.slack.blocks import message
from mcpist_services.slack.directory import channel_id, in_channel, mentioned_ids
from mcpist_services.slack.mrkdwn import BROADCASTS

_NAME = re.compile(r"(?<![\w@./-])@(\w(?:[\w.-]*\w)?)")
_PARTS = {"runs", "blocks", "items"}

type FindId = Callable[[str], str | None]


def post(channel: str, path: str, markdown: str, *, opens: bool = False, **more: Any) -> Work:
    """Return the request that posts Markdown, after those that find the channel and the people whom it names."""
    parsed = read(markdown)
    content, names = message(parsed), list(_names_in(parsed))
    if not names:
        return in_channel(channel, "POST", path, opens=opens, **content, **more)
    return _post_with_mentions(channel, path, parsed, names, opens, more)


def _post_with_mentions(
    channel: str, path: str, parsed: tree.Blocks, names: list[str], opens: bool, more: dict[str, Any]
) -> Calls:
    ids = yield from mentioned_ids(names)
    id_ = yield from channel_id(channel, opens=opens)
    return Call("POST", path, json=given(channel=id_, **message(_with_mentions(parsed, ids.get)), **more))


def _names_in(parsed: tree.Blocks) -> Iterator[str]:
    """Yield each name that the text of a message has after an @."""
    found: dict[str, str | None] = {}
    _with_mentions(parsed, found.setdefault)
    yield from (name for name in found if name.casefold() not in BROADCASTS)


def _with_mentions(value: Any, find_id: FindId) -> Any:
    """Return a tree in which each name in a text whose id is found is a mention."""
    match value:
        case tree.TextRun(text, marks, "") if "code" not in marks:
            return tuple(_runs(text, marks, find_id))
        case tuple():
            return tuple(
                part
                for inner in value
                for each in [_with_mentions(inner, find_id)]
                for part in (each if isinstance(inner, tree.TextRun) and isinstance(each, tuple) else (each,))
            )
        case tree.Paragraph() | tree.Heading() | tree.Quote() | tree.List() | tree.Item():
            names = [field.name for field in fields(value) if field.name in _PARTS]
            return replace(value, **{name: _with_mentions(getattr(value, name), find_id) for name in names})
        case _:
            return value


def _runs(text: str, marks: frozenset[tree.Mark], find_id: FindId) -> Iterator[tree.Run]:
    end = 0
    for name in _NAME.finditer(text):
        if id_ := find_id(name[1]):
            yield tree.TextRun(text[end : name.start()], marks)
            yield tree.Mention(id_, name[1])
            end = name.end()
    yield tree.TextRun(text[end:], marks)
