"""The body of a Call's request: JSON, a form, bytes, or several parts."""

from collections.abc import Sequence
from typing import Any

from mcpist.bounded_http.multipart import FormField, multipart_body
from mcpist.tools.declare.call import Call, FilePart


def request_body(call: Call) -> dict[str, Any]:
    """Return the body as the client's `exchange` takes it, with the header of its type where the client knows none."""
    if call.multipart is not None:
        parts = ((name, part) for name, value in call.multipart.items() for part in _parts(value))
        kind, content = multipart_body(_field(name, part) for name, part in parts)
        return {"content": content, "headers": {"content-type": kind}}
    if call.content is not None:
        return {"content": call.content.content, "headers": {"content-type": call.content.content_type}}
    return {"json": call.json, "form": call.form}


def _parts(value: str | FilePart | Sequence[FilePart]) -> Sequence[str | FilePart]:
    return [value] if isinstance(value, str | FilePart) else value


def _field(name: str, part: str | FilePart) -> FormField:
    if isinstance(part, str):
        return FormField(name, part.encode(errors="replace"))
    return FormField(name, part.content.content, part.filename, part.content.content_type)
