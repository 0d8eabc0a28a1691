"""From the tree of Markdown to storage format: well-formed XHTML.

Reference: https://confluence.atlassian.com/doc/confluence-storage-format-790796544.html

Differences from the tree: repeated spaces become one, mentions have no names, a list holds either tasks or other items
and only the latter can be numbered, an image needs an address. A quote that begins with `[!info]` becomes a panel, with
the strong text after that as its title.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import count, groupby

from mcpist.errors import InvalidRequest
from mcpist.markdown import tree
from mcpist.markdown.normal_form import normalize
from mcpist_services.confluence.originals import Originals
from mcpist_services.confluence.vocabulary import DATE, PANELS, resource

_TAGS: dict[tree.Mark, str] = {"strong": "strong", "emphasis": "em", "strike": "del", "code": "code"}
_PANEL = re.compile(r"\[!(\w+)\](?:\s+(.*))?", re.DOTALL)
_ALERTS = {"important": "info", "caution": "warning"}  # other names in GitHub
_INVALID_XML_CHARACTERS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_storage(blocks: tree.Blocks, field: str, originals: Originals | None = None) -> str:
    """Convert the tree to storage format, with the macros of a page in the place of their marks.

    InvalidRequest, naming the field, for Confluence parts that it only names.
    """
    return _Writer(field, originals or Originals()).blocks(normalize(blocks))


class _Writer:
    def __init__(self, field: str, originals: Originals) -> None:
        self.field = field
        self.originals = originals
        self.task_ids: Iterator[int] = count(1)

    def blocks(self, blocks: tree.Blocks) -> str:
        parts: list[str] = []
        waiting = list(reversed(blocks))
        while waiting:
            block = waiting.pop()
            text = waiting[-1] if waiting else None
            macro = self.originals.take(block, "text") if isinstance(block, tree.Unsupported) else None
            if macro and isinstance(text, tree.Code):
                waiting.pop()
                parts.append(f"{macro.before}{_cdata(text.text)}{macro.after}")
            else:
                parts.append(self.block(block))
        return "".join(parts)

    def block(self, block: tree.Block) -> str:
        match block:
            case tree.Paragraph(runs):
                return _element("p", self.runs(runs))
            case tree.Heading(level, runs):
                return _element(f"h{level}", self.runs(runs))
            case tree.Code(text, language):
                return _macro("code", _cdata(text), "plain-text", language=language)
            case tree.Quote(blocks):
                return self.macro(blocks) or self.panel(blocks) or _element("blockquote", self.blocks(blocks))
            case tree.List():
                return self.list(block)
            case tree.TableBlock(rows):
                return self.table(rows)
            case tree.Rule():
                return "<hr />"
            case tree.Unsupported():
                return self.restored(block)

    def macro(self, blocks: tree.Blocks) -> str:
        """Return the macro that a quote stands for; empty for any other quote."""
        first = blocks[0] if blocks else None
        macro = self.originals.take(first, "blocks") if isinstance(first, tree.Unsupported) else None
        return f"{macro.before}{self.blocks(blocks[1:])}{macro.after}" if macro else ""

    def restored(self, mark: tree.Unsupported) -> str:
        """Return the macro that a mark stands for."""
        macro = self.originals.take(mark, "empty")
        if macro:
            return macro.before
        reason = "is not on the page in this form, or would be deleted"
        raise InvalidRequest(field=self.field, problem=f"{mark.name} {reason}: remove its marker, or edit around it")

    def panel(self, blocks: tree.Blocks) -> str:
        """Return the panel that a quote represents, or nothing if it does not begin like one."""
        match blocks:
            case (tree.Paragraph((tree.TextRun(text, marks, ""), *rest)), *others) if not marks and (
                match_ := _PANEL.fullmatch(text)
            ):
                name = _ALERTS.get(match_[1].lower(), match_[1].lower())
                first = normalize((tree.Paragraph((tree.TextRun(match_[2] or ""), *rest)),))
            case _:
                return ""
        if name not in PANELS:
            return ""
        match first:
            case (tree.Paragraph((tree.TextRun(title, marks, ""),)),) if marks == {"strong"}:
                return _macro(name, self.blocks(tuple(others)), "rich-text", title=title)
        return _macro(name, self.blocks((*first, *others)), "rich-text")

    def list(self, block: tree.List) -> str:
        """Return a list, or several where it mixes tasks and other items."""
        parts = []
        for is_tasks, group in groupby(enumerate(block.items), lambda entry: entry[1].done is not None):
            entries = list(group)
            items = [item for _, item in entries]
            if is_tasks:
                parts.append(_element("ac:task-list", "".join(map(self.task, items))))
                continue
            inner = "".join(_element("li", self.blocks(item.blocks)) for item in items)
            if block.start is None:
                parts.append(_element("ul", inner))
            else:
                start = block.start + entries[0][0]
                parts.append(_element("ol", inner, {"start": "" if start == 1 else str(start)}))
        return "".join(parts)

    def task(self, item: tree.Item) -> str:
        """Return a task; lists of subtasks at its end follow it, as in Confluence itself."""
        body = list(item.blocks)
        subtasks: list[tree.Block] = []
        while len(body) > 1 and _is_tasks(body[-1]):
            subtasks.insert(0, body.pop())
        text = ""
        if body and isinstance(first := body[0], tree.Paragraph):
            text = self.runs(first.runs)
            del body[0]
        parts = [
            _element("ac:task-id", str(next(self.task_ids))),
            _element("ac:task-status", "complete" if item.done else "incomplete"),
            _element("ac:task-body", text + self.blocks(tuple(body))),
        ]
        return _element("ac:task", "".join(parts)) + self.blocks(tuple(subtasks))

    def table(self, rows: tuple[tuple[tree.Runs, ...], ...]) -> str:
        """Return a table; a header row without text is dropped."""
        headed = len(rows) == 1 or any(rows[0])
        lines = [self.row(rows[0], "th")] if headed else []
        lines += [self.row(row, "td") for row in rows[1:]]
        return _element("table", _element("tbody", "".join(lines)))

    def row(self, cells: tuple[tree.Runs, ...], name: str) -> str:
        return _element("tr", "".join(_element(name, _element("p", self.runs(cell))) for cell in cells))

    def runs(self, runs: tree.Runs) -> str:
        groups = groupby(runs, lambda run: run.link if isinstance(run, tree.TextRun) else "")
        return "".join(_link(link, "".join(map(self.run, group))) for link, group in groups)

    def run(self, run: tree.Run) -> str:
        match run:
            case tree.TextRun(text, marks):
                markup = escaped(text)
                for mark in sorted(marks):
                    markup = _element(_TAGS[mark], markup)
                return markup
            case tree.Image(source, alt):
                return _image(source, alt)
            case tree.Mention(id_):
                return _element("ac:link", _element("ri:user", "", {"ri:account-id": id_}))
            case tree.Break():
                return "<br />"
            case tree.Unsupported():
                return self.restored(run)


def _is_tasks(block: tree.Block) -> bool:
    return isinstance(block, tree.List) and all(item.done is not None for item in block.items)


def _link(link: str, body: str) -> str:
    if not link:
        return body
    if date := DATE.fullmatch(link):
        return _element("time", "", {"datetime": date[1]})
    if (target := resource(link)) is None:
        return _element("a", body, {"href": link})
    name, attributes, anchor = target
    named = _element(name, "", attributes) if name else ""
    return _element("ac:link", named + _element("ac:link-body", body), {"ac:anchor": anchor})


def _image(source: str, alt: str) -> str:
    if not source:
        return escaped(alt)
    target = resource(source)
    if target and target[0] == "ri:attachment":
        named = _element("ri:attachment", "", target[1])
    else:
        named = _element("ri:url", "", {"ri:value": source})
    return _element("ac:image", named, {"ac:alt": alt})


def _macro(name: str, body: str, kind: str, **parameters: str) -> str:
    """Return a macro; parameters without a value are left out."""
    inputs = [_element("ac:parameter", escaped(value), {"ac:name": key}) for key, value in parameters.items() if value]
    inner = "".join([*inputs, _element(f"ac:{kind}-body", body)])
    return _element("ac:structured-macro", inner, {"ac:name": name, "ac:schema-version": "1"})


def _element(name: str, inner: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return an element; attributes without a value are left out."""
    named = "".join(f' {key}="{escaped(value)}"' for key, value in (attributes or {}).items() if value)
    return f"<{name}{named}>{inner}</{name}>" if inner else f"<{name}{named} />"


def escaped(text: str) -> str:
    """Return a text as markup shows it."""
    text = _valid_xml(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;")


def _cdata(text: str) -> str:
    """Return text as a CDATA section; an end of section inside it is split over two."""
    return f"<![CDATA[{_valid_xml(text).replace(']]>', ']]]]><![CDATA[>')}]]>"


def _valid_xml(text: str) -> str:
    return _INVALID_XML_CHARACTERS.sub("\ufffd", text)
