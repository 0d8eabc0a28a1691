"""The files that pages use: each has the hash of its content in its address, and is kept by browsers for a year."""

import hashlib
from functools import cache
from pathlib import Path

from console.request import Request
from console.response import file_response
from mcpist.aws.http_request import HttpResponse
from mcpist.errors import PageNotFound

FOLDER = Path(__file__).parent / "assets"
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def show(request: Request) -> HttpResponse:
    """Return the file that the address names; an address with another hash is one of another release."""
    name = _names().get(request.path_parameters.get("file", ""))
    if name is None:
        raise PageNotFound(method=request.method, path=request.path)
    return file_response(request, _content(name), TYPES[Path(name).suffix])


@cache
def address(name: str) -> str:
    """Return the path of a file such as `style.css`."""
    stem, dot, suffix = name.partition(".")
    return f"/assets/{stem}.{hashlib.sha256(_content(name)).hexdigest()[:12]}{dot}{suffix}"


@cache
def _names() -> dict[str, str]:
    files = (path.name for path in FOLDER.iterdir() if path.suffix in TYPES)
    return {address(name).rpartition("/")[2]: name for name in files}


@cache
def _content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()
