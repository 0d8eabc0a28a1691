"""The exact first request of every tool, called with its examples: one line each in `requests/<module>.txt`.

A line is `tool use: METHOD /path?query {"body"} +header: value`. After a change that is meant,
`make docs` writes the files anew: read the difference.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from mcpist.tools.call import Call, Lookup
from mcpist.tools.module import Module
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.services.contracts import uses

FOLDER = Path(__file__).parent / "requests"


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_sends_exactly_its_recorded_requests(name: str) -> None:
    assert list(requests(CATALOGUE.module(name))) == (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()


def requests(module: Module) -> Iterator[str]:
    """A module's requests, line by line."""
    for tool in module.tools.values():
        for use, arguments in uses(tool):
            work = tool.describe_work(tool.validate(arguments))
            yield f"{tool.name} {use}: {line(work if isinstance(work, Call | Lookup) else next(work))}"


def line(work: Call | Lookup) -> str:
    """One request in one line."""
    if isinstance(work, Lookup):
        return f"{work.function.__name__} {json.dumps(work.arguments, ensure_ascii=False)}"
    plain = {name: str(value).lower() if isinstance(value, bool) else value for name, value in work.query.items()}
    query = f"?{urlencode(plain, doseq=True, safe=',:/')}" if plain else ""
    sent = work.json if work.text is None else work.text
    body = f" {json.dumps(sent, ensure_ascii=False)}" if sent is not None else ""
    headers = "".join(f" +{header}: {value}" for header, value in work.headers.items())
    return f"{work.method} {work.origin}{work.path}{query}{body}{headers}"


if __name__ == "__main__":
    for each in NAMES:
        (FOLDER / f"{each}.txt").write_text("\n".join([*requests(CATALOGUE.module(each)), ""]), "utf-8")
