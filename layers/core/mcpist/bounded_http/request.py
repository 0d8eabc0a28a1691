"""The request of an exchange, made of text, JSON, a form or the parts of multipart/form-data (RFC 7578)."""

import json as json_codec
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpcore2

from mcpist.bounded_http.failures import UnsendableRequest

MAX_URL_CHARACTERS = 65_536
DEFAULT_HEADERS = {"accept": "*/*", "accept-encoding": "gzip", "user-agent": "mcpist"}

_PATH_CHARACTERS = "/%:@!$&'()*+,;=~"
# As browsers write names: https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data
_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


def build_request(
    method: str,
    url: str,
    *,
    query: Mapping[str, Any] | None,
    json: Any,
    form: Mapping[str, Any] | None,
    content: bytes | None = None,
    headers: Mapping[str, str],
    extensions: dict[str, Any],
) -> httpcore2.Request:
    """Return the library's request, or UnsendableRequest without the text of any header."""
    url = _with_query(url, query)
    if len(url) > MAX_URL_CHARACTERS:
        raise UnsendableRequest(f"its address is longer than {MAX_URL_CHARACTERS} characters")
    if content is not None:
        described = {"content-length": str(len(content))}
    else:
        described, content = _content(method, json, form)
    all_headers = {**DEFAULT_HEADERS, **described, **{name.lower(): value for name, value in headers.items()}}
    try:
        address = _address(url)
        encoded = [(b"host", urlsplit(url).netloc.rpartition("@")[2].encode("idna"))]
        encoded += [(name.encode("ascii"), value.encode("ascii")) for name, value in all_headers.items()]
    except UnicodeEncodeError:  # its text quotes the header
        raise UnsendableRequest("its address or a header is not ASCII") from None
    except ValueError as error:
        raise UnsendableRequest(str(error)) from None
    return httpcore2.Request(method, address, headers=encoded, content=content, extensions=extensions)


def _address(url: str) -> httpcore2.URL:
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError("its address has no host")
    target = quote(parts.path or "/", _PATH_CHARACTERS)
    if parts.query:
        target += f"?{quote(parts.query, _PATH_CHARACTERS + '?')}"
    return httpcore2.URL(scheme=parts.scheme, host=parts.hostname.encode("idna"), port=parts.port, target=target)


def _content(method: str, json: Any, form: Mapping[str, Any] | None) -> tuple[dict[str, str], bytes | None]:
    """Return the headers that describe a body, and the body."""
    if form is not None:
        kind, content = "application/x-www-form-urlencoded", urlencode(form, doseq=True).encode()
    elif json is not None:
        kind, content = "application/json", _dump(json)
    else:
        return ({"content-length": "0"}, b"") if method in {"POST", "PUT", "PATCH"} else ({}, None)
    return {"content-type": kind, "content-length": str(len(content))}, content


def _dump(value: Any) -> bytes:
    try:
        return json_codec.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UnsendableRequest(str(error)) from None


def _with_query(url: str, query: Mapping[str, Any] | None) -> str:
    if not query:
        return url
    try:
        text = urlencode({name: _query_value(value) for name, value in query.items()}, doseq=True)
    except UnicodeEncodeError as error:
        raise UnsendableRequest(str(error)) from None
    return f"{url}{'&' if '?' in url else '?'}{text}"


def _query_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_query_value(item) for item in value]
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return value


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
