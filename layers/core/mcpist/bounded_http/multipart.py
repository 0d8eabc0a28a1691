"""Bodies of the type multipart/form-data (RFC 7578)."""

from collections.abc import Iterable
from dataclasses import dataclass
from secrets import token_hex

# As browsers write names: https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data
_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form."""

    name: str
    value: bytes
    filename: str = ""
    """The name of a file; empty for a field that is none."""
    content_type: str = ""


def multipart_body(fields: Iterable[FormField]) -> tuple[str, bytes]:
    """Return the content type and the body of a form with these fields, in their order."""
    boundary = token_hex(16)
    parts = [part for field in fields for part in (_head(boundary, field), field.value, b"\r\n")]
    return f"multipart/form-data; boundary={boundary}", b"".join([*parts, f"--{boundary}--\r\n".encode()])


def _head(boundary: str, field: FormField) -> bytes:
    filename = f'; filename="{field.filename.translate(_ESCAPES)}"' if field.filename else ""
    kind = f"Content-Type: {field.content_type.translate(_ESCAPES)}\r\n" if field.content_type else ""
    name = field.name.translate(_ESCAPES)
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{filename}\r\n{kind}\r\n'
    return head.encode(errors="replace")
