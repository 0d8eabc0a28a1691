"""`mcpist api mock`: samples of the answers that a description states."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from infra.cli.mock_api import MockApi
from mcpist_services.described.description import parse
from tests.services.described.library import content, library

KEY = {"x-library-key": "any"}
MOCK = MockApi(parse(content(library())))


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "status"),
    [
        ("GET", "/v1/books", KEY, b"", 200),
        ("GET", "/v1/books", {}, b"", 401),
        ("GET", "/v1/books/a%2Fb", KEY, b"", 200),
        ("POST", "/v1/books", KEY, b'{"title": "Emma"}', 201),
        ("POST", "/v1/books", KEY, b"", 400),
        ("DELETE", "/v1/books/1", KEY, b"", 204),
        ("PATCH", "/v1/books/1", KEY, b"", 405),
        ("GET", "/v1/none", KEY, b"", 404),
    ],
)
def test_requests_are_answered_as_the_description_says(
    method: str, target: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    assert MOCK.answer(method, target, headers, body)[0] == status


def test_an_answer_has_what_the_schema_has() -> None:
    _, book = MOCK.answer("GET", "/v1/books/1", KEY, b"")
    assert {"id", "title", "isbn", "state", "author", "updated_at", "html_url", "sequel"} <= set(book)
    assert (book["state"], book["author"]["born"]) == ("in", 1)
    _, page = MOCK.answer("GET", "/v1/books", KEY, b"")
    assert page["books"][0]["title"] == "example"


def test_it_serves_until_it_is_stopped(nowhere: Path) -> None:
    file = nowhere / "library.json"
    file.write_bytes(content(library()))
    command = [sys.executable, "-c", "from infra.cli.main import main; main()", "api", "mock", str(file), "--port", "0"]
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as mock:
        assert mock.stderr
        url = mock.stderr.readline().rpartition(" ")[2].strip()
        answer = httpx2.get(f"{url}/books/7", headers=KEY)
        mock.send_signal(signal.SIGTERM)
        assert mock.wait(5) == 0
        assert mock.stdout
        assert mock.stdout.read() == "200 GET /v1/books/7 \n"
    assert json.loads(answer.content)["title"] == "example"
