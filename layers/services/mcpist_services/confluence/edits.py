"""Changes of a part of a page: its source stays as it is everywhere else, macros among it.

Reference: https://confluence.atlassian.com/doc/confluence-storage-format-790796544.html
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import Conflict, InvalidRequest, NotUndoable, ToolExecutionError
from mcpist.render.shows import value_at
from mcpist.tools.declare.call import Call, Calls, given, path
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, compares, undone_by, unless
from mcpist_services.confluence.markup import Element, decoded, parse
from mcpist_services.confluence.presentation import storage, with_markdown
from mcpist_services.confluence.writing import escaped

MAX_NAMED_HEADINGS = 20

_LAYOUT_END = "</ac:layout>"
_SECTION = '<ac:layout-section ac:type="fixed-width"><ac:layout-cell>{}</ac:layout-cell></ac:layout-section>'
_HEADING = re.compile(r"h([1-6])")
_OPAQUE = {"ac:parameter", "ac:plain-text-body", "ac:placeholder", "ac:task-id", "ac:task-status", "ac:adf-attribute"}


ReadVersion = Annotated[int, Field(ge=1), "That you read: CONFLICT if somebody has changed it since, e.g. 4"]
Why = Annotated[str, "For the list of versions, e.g. Moved to May"]


def append(source: str, addition: str) -> str:
    """Return a page with an addition at its end; where the page is laid out in columns, in a section of its own."""
    bare = source.rstrip()
    if not bare.endswith(_LAYOUT_END):
        return source + addition
    return bare.removesuffix(_LAYOUT_END) + _SECTION.format(addition) + _LAYOUT_END


def section(source: str, heading: str) -> tuple[int, int]:
    """Return where the contents under a heading begin and end: before the next heading that is not deeper.

    InvalidRequest where no heading, or several, have this text.
    """
    headings = list(_headings(parse(source)))
    wanted = _plain(heading.lstrip("# "))
    found = [(element, span) for element, span in headings if _plain(element.text) == wanted]
    if len(found) != 1:
        names = ", ".join(f'"{" ".join(element.text.split())}"' for element, _ in headings[:MAX_NAMED_HEADINGS])
        problem = "several headings have this text" if found else f"there are only: {names or 'none'}"
        raise InvalidRequest(field="heading", problem=problem)
    return found[0][1]


def replace_all(body: str | None) -> Callable[[str], str]:
    """Return the change of a page to a new text with the macros that it marks; without one, nothing changes."""
    return lambda source: source if body is None else storage(body, page=source)


def replaced_text(source: str, old: str, new: str) -> tuple[str, int]:
    """Return a page with another text in the place of each occurrence, and their number; macros stay untouched."""
    parts: list[str] = []
    end = times = 0
    for start, stop in _texts(parse(source)):
        text = decoded(source[start:stop])
        if old in text and "<" not in source[start:stop]:  # which is a comment or a literal section
            times += text.count(old)
            parts += [source[end:start], escaped(text.replace(old, new))]
            end = stop
    return "".join([*parts, source[end:]]), times


def _headings(element: Element) -> Iterator[tuple[Element, tuple[int, int]]]:
    """Yield each heading with the place of the contents under it, which end with the element around it."""
    inner = element.elements
    for place, one in enumerate(inner):
        if level := _level(one):
            after = (other.start for other in inner[place + 1 :] if 0 < _level(other) <= level)
            yield one, (one.end, next(after, element.closed))
        yield from _headings(one)


def _level(element: Element) -> int:
    """Return a heading's level; 0 for any other element."""
    heading = _HEADING.fullmatch(element.name)
    return int(heading[1]) if heading else 0


def _texts(element: Element) -> Iterator[tuple[int, int]]:
    """Yield the places of the texts between tags, without those of macros' parameters and literal bodies."""
    place = element.opened
    for inner in element.elements:
        yield from ([(place, inner.start)] if place < inner.start else [])
        if inner.name not in _OPAQUE:
            yield from _texts(inner)
        place = inner.end
    yield from ([(place, element.closed)] if place < element.closed else [])


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def update(
    place: str,
    fields: dict[str, Any],
    rewrite: Callable[[str], str],
    expected: int | None,
    message: str | None,
) -> Calls:
    """Send the complete document: its current state with the changes, as its next version."""
    current = (yield Call("GET", place, {"body-format": "storage"})).json
    number, title = current["version"]["number"], current["title"]
    if expected not in (None, number):
        raise Conflict(what=title)
    text = {"representation": "storage", "value": rewrite(value_at(current, "body.storage.value") or "")}
    kept = {"id": current["id"], "status": current["status"], "title": title}
    # A draft has one version only.
    is_draft = "draft" in (current["status"], fields.get("status"))
    version = {"number": 1 if is_draft else number + 1, **given(message=message)}
    try:
        return with_markdown((yield Call("PUT", place, json={**kept, **fields, "body": text, "version": version})).json)
    except ToolExecutionError as error:
        raise (Conflict(what=title) if error.details["http_status"] == 409 else error) from None


VERSION: dict[str, Any] = {"version": "version.number"}


def created(kind: str) -> Undo:
    """Declare that moving a new page or post (`kind`) to the trash undoes its creation."""
    ids: dict[str, Any] = {f"{kind}_id": "answer.id", "draft": lambda change: change.answer.get("status") == "draft"}
    reads = {"get_draft": ids["draft"]}
    return undone_by(f"delete_{kind}", read=f"get_{kind}", creates=True, fields=VERSION, reads=reads, **ids)


def trashed(kind: str) -> Undo:
    """Declare that making it current again undoes moving a page or a post to the trash."""
    undo = undone_by(f'update_{kind}({kind}_id, status="current")', read=f"get_{kind}")
    gone = "a draft, and what was purged, is in no trash"
    return unless(lambda change: change.arguments["draft"] or change.arguments["purge"], gone, undo)


def edited(kind: str) -> Undo:
    """Declare that restoring the former version undoes a change of a page or a post: its macros come back, too."""
    id_ = f"{kind}_id"

    def calls(change: ToolChange) -> Iterable[ToolCall]:
        place, before = {id_: change.arguments[id_]}, change.before
        if before["status"] == "trashed":
            return [ToolCall(f"delete_{kind}", place)]
        if "draft" in (before["status"], change.arguments.get("status")):
            raise NotUndoable(tool=change.tool, problem="a draft has no versions")
        back = [ToolCall(f"restore_{kind}", {**place, "version": before["version"]["number"]})]
        parent = before.get("parentId")
        moved = [ToolCall(f"update_{kind}", {**place, "parent_id": parent})]
        return back + (moved if change.arguments.get("parent_id") not in (None, parent) and parent else [])

    return Undo(calls=calls, read=f"get_{kind}", reads={"version": lambda _: None}, state=compares(**VERSION))


def restore(content_id: str, version: int) -> Call:
    """Describe the request that makes a former version of a page or a post the newest one."""
    body = {"operationKey": "restore", "params": {"versionNumber": version, "restoreTitle": True, "message": ""}}
    return Call("POST", path("/wiki/rest/api/content/{content_id}/version", content_id=content_id), json=body)
