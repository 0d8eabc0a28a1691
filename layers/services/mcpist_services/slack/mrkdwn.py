"""Slack's mrkdwn, the text of messages: written for notifications, and read where a message has no blocks.

`&`, `<` and `>` are always escaped, so that no text becomes a mention, a link or a command; a mention is written only
for a Mention. mrkdwn has no escape for `*`, `_`, `~` and backticks: the exact form of a message is in its blocks.
Reference: https://docs.slack.dev/messaging/formatting-message-text
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from mcpist.errors import InvalidRequest
from mcpist.markdown import tree
from mcpist.markdown.writer import lines_of

BROADCASTS = {"here", "channel", "everyone"}
ADDRESS = re.compile(r"(?:https?|mailto|tel|slack):[^\s|<>]+")
_DELIMITERS: dict[tree.Mark, str] = {"strong": "*", "emphasis": "_", "strike": "~", "code": "`"}
_MARKS = {delimiter: mark for mark, delimiter in _DELIMITERS.items()}
_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|<(?P<angle>[^<>\n]+)>"
    r"|(?<![\w*_~])(?P<mark>[*_~])(?=\S)(?P<inner>(?:(?!(?P=mark))[^\n])*?(?<=\S))(?P=mark)(?!\w)"
)
_SPECIAL = re.compile(r"!subteam\^(?P<group>\w+)|!(?P<broadcast>here|channel|everyone)|[@#](?P<id>\w+)")
_BULLET = re.compile(r"[•◦▪] +")


def mrkdwn(blocks: tree.Blocks) -> str:
    """Return blocks as mrkdwn; InvalidRequest for what Slack has no form of."""
    return "\n".join("".join(map(_run, line)) for line in lines_of(blocks))


def lost_error(lost: tree.Unsupported) -> InvalidRequest:
    """Return the error for an element that Markdown only names."""
    return InvalidRequest(field="markdown", problem=f'"{lost.name}" cannot be written from Markdown: leave it out')


def read_mrkdwn(text: str) -> tree.Blocks:
    """Return the blocks of a message's text."""
    parts = text.split("```")
    if len(parts) % 2 == 0:  # the last fence is never closed
        parts[-2:] = ["```".join(parts[-2:])]
    return tuple(block for place, part in enumerate(parts) for block in _part(part, is_code=bool(place % 2)))


def runs_of(text: str, marks: frozenset[tree.Mark] = frozenset()) -> Iterator[tree.Run]:
    """Yield the runs of mrkdwn in one line or several."""
    end = 0
    for found in _INLINE.finditer(text):
        yield from _plain(text[end : found.start()], marks)
        end = found.end()
        if found["code"]:
            yield tree.TextRun(unescape(found["code"]), marks | {"code"})
        elif found["angle"]:
            yield _angle(found["angle"], marks)
        else:
            yield from runs_of(found["inner"], marks | {_MARKS[found["mark"]]})
    yield from _plain(text[end:], marks)


def _run(run: tree.Run) -> str:
    match run:
        case tree.TextRun(text, marks, link):
            return _text(text, marks, link)
        case tree.Image(source, alt):
            return _text(alt or source, frozenset(), source)
        case tree.Mention(id_, _):
            return _mention(id_)
        case tree.Break():
            return "\n"
        case tree.Unsupported():
            raise lost_error(run)


def _text(text: str, marks: Iterable[tree.Mark], link: str) -> str:
    escaped = _escape(text)
    if link and ADDRESS.fullmatch(link):
        # A bar in a link's text has no escape: Slack would end the address there.
        escaped = f"<{_escape(link)}|{escaped.replace('|', '¦')}>" if text != link else f"<{_escape(link)}>"
    elif link and link != text:
        escaped = f"{escaped} ({_escape(link)})"
    bare = escaped.strip()
    if not bare:
        return escaped
    for mark in sorted(marks):
        bare = f"{_DELIMITERS[mark]}{bare}{_DELIMITERS[mark]}"
    start = len(escaped) - len(escaped.lstrip())
    return escaped[:start] + bare + escaped[len(escaped.rstrip()) :]


def _mention(id_: str) -> str:
    if id_ in BROADCASTS:
        return f"<!{id_}>"
    if not re.fullmatch(r"[CDGSUW][A-Z0-9]{6,}", id_):
        problem = f'"{id_}" is no id that Slack can mention: give one as list_users or list_channels shows it, or here'
        raise InvalidRequest(field="markdown", problem=problem)
    return f"<!subteam^{id_}>" if id_[0] == "S" else f"<{'@' if id_[0] in 'UW' else '#'}{id_}>"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Return a text as its author wrote it: Slack escapes these three characters alone."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _part(text: str, *, is_code: bool) -> Iterator[tree.Block]:
    if is_code:
        yield tree.Code(
            unescape(re.sub(r"<([^<>|\n]+)(?:\|([^<>\n]*))?>", lambda link: link[2] or link[1], text.strip("\n")))
        )
        return
    for paragraph in re.split(r"\n{2,}", text.strip("\n")):
        yield from _paragraph(paragraph.split("\n"))


def _paragraph(lines: list[str]) -> Iterator[tree.Block]:
    for kind, group in groupby(lines, _kind):
        yield _block(list(group), kind)


def _kind(line: str) -> str:
    if line.startswith(("&gt;", ">")):
        return "quote"
    return "list" if _BULLET.match(line) else "text"


def _block(lines: list[str], kind: str) -> tree.Block:
    if kind == "quote":
        bare = [line.removeprefix("&gt;").removeprefix(">").removeprefix(" ") for line in lines]
        return tree.Quote((tree.Paragraph(tuple(runs_of("\n".join(bare)))),))
    if kind == "list":
        items = (tree.Item((tree.Paragraph(tuple(runs_of(_BULLET.sub("", line, count=1)))),)) for line in lines)
        return tree.List(tuple(items))
    return tree.Paragraph(tuple(runs_of("\n".join(lines))))


def _angle(content: str, marks: frozenset[tree.Mark]) -> tree.Run:
    """Return the content of angle brackets: a mention, a link, or a command with its fallback text."""
    target, _, label = content.partition("|")
    name = unescape(label).removeprefix("@").removeprefix("#")
    if special := _SPECIAL.fullmatch(target):
        id_ = next(filter(None, special.groups()))
        return tree.Mention(id_, name or id_)
    if target.startswith("!"):
        return tree.TextRun(unescape(label) or target, marks)
    return tree.TextRun(unescape(label or target), marks, unescape(target))


def _plain(text: str, marks: frozenset[tree.Mark]) -> tree.Runs:
    return (tree.TextRun(unescape(text), marks),) if text else ()
