"""Updates of a page or a blog post, which Confluence takes whole alone."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import Conflict, ToolExecutionError
from mcpist.render.shows import value_at
from mcpist.tools.declare.call import Call, Calls, given
from mcpist_services.confluence.presentation import with_markdown

ReadVersion = Annotated[int, Field(ge=1), "That you read: CONFLICT if somebody has changed it since, e.g. 4"]
Why = Annotated[str, "For the list of versions, e.g. Moved to May"]


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
