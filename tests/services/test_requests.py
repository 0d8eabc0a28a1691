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

import pytest

from mcpist.files.content import FileContent
from mcpist.tools.call import Call, FilePart, Lookup
from mcpist.tools.module import Module
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.services.contracts import CONTRACTED, SPECS, Vendor, needs_descriptions, uses

FOLDER = Path(__file__).parent / "requests"


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_sends_exactly_its_recorded_requests(name: str) -> None:
    assert list(requests(CATALOGUE.module(name))) == (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()


@needs_descriptions
@pytest.mark.parametrize("name", CONTRACTED)
def test_every_tool_sends_exactly_its_recorded_further_requests(name: str) -> None:
    recorded = FOLDER / f"{name}.next.txt"
    assert list(further_requests(name)) == (recorded.read_text("utf-8").splitlines() if recorded.exists() else [])


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
