"""The exact requests of every tool, called with its examples.

The first of each use is a line in `requests/<module>.txt`: `tool use: METHOD /path?query {"body"} +header: value`.
Those that follow it, after answers made from the vendor's description, are in `requests/<module>.next.txt`. After a
change that is meant, `make docs` writes the files anew: read the difference.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from mcpist.files.content import FileContent
from mcpist.tools.declare.call import Call, FilePart, Lookup
from mcpist.tools.declare.module import Module
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each
from tests.services.contracts import CONTRACTED, SPECS, Vendor, needs_descriptions, uses

FOLDER = Path(__file__).parent / "requests"


@for_each("name", NAMES)
def test_every_tool_sends_exactly_its_recorded_requests(name: str) -> None:
    assert list(requests(CATALOGUE.module(name))) == recorded(f"{name}.txt"), "if it is meant, run `make docs`"


@needs_descriptions
@for_each("name", CONTRACTED)
def test_every_tool_sends_exactly_its_recorded_further_requests(name: str) -> None:
    assert list(further_requests(name)) == recorded(f"{name}.next.txt"), "if it is meant, run `make docs`"


def recorded(name: str) -> list[str]:
    """The lines of a file; a service that was added has none until `make docs` writes it."""
    return (FOLDER / name).read_text("utf-8").splitlines() if (FOLDER / name).exists() else []


def requests(module: Module) -> Iterator[str]:
    """A module's requests, line by line."""
    for tool in module.tools.values():
        for use, arguments in uses(tool):
            work = tool.describe_work(tool.validate(arguments))
            yield f"{tool.name} {use}: {line(work if isinstance(work, Call | Lookup) else next(work))}"


def further_requests(name: str) -> Iterator[str]:
    """The requests of a module's tools after the first, line by line."""
    vendor = Vendor(name)
    for tool in vendor.module.tools.values():
        for use, arguments in uses(tool):
            vendor.forget()
            vendor.perform(tool, arguments)
            yield from (f"{tool.name} {use}: {line(call)}" for call in vendor.sent[1:])


def line(work: Call | Lookup) -> str:
    """One request in one line."""
    if isinstance(work, Lookup):
        return f"{work.function.__name__} {json.dumps(work.arguments, ensure_ascii=False)}"
    plain = {name: str(value).lower() if isinstance(value, bool) else value for name, value in work.query.items()}
    query = f"?{urlencode(plain, doseq=True, safe=',:/')}" if plain else ""
    body = "" if (sent := _body(work)) is None else f" {json.dumps(sent, ensure_ascii=False)}"
    headers = "".join(f" +{header}: {value}" for header, value in work.headers.items())
    return f"{work.method} {work.origin}{work.path}{query}{body}{headers}{' (download)' if work.download else ''}"


def _body(call: Call) -> Any:
    """The body of a request; of contents their text."""
    if call.multipart is not None:
        return {
            name: parts if isinstance(parts, str) else [[part.filename, _text(part.content)] for part in _files(parts)]
            for name, parts in call.multipart.items()
        }
    return _text(call.content) if call.content else call.json


def _files(parts: FilePart | Sequence[FilePart]) -> Sequence[FilePart]:
    return [parts] if isinstance(parts, FilePart) else parts


def _text(content: FileContent) -> str:
    return f"{content.content_type}: {content.content.decode()}"


if __name__ == "__main__":
    for each in NAMES:
        (FOLDER / f"{each}.txt").write_text("\n".join([*requests(CATALOGUE.module(each)), ""]), "utf-8")
    for each in CONTRACTED if (SPECS / "github.openapi.json").exists() else ():
        if lines := list(further_requests(each)):
            (FOLDER / f"{each}.next.txt").write_text("\n".join([*lines, ""]), "utf-8")
