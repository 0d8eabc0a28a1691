"""The command line in a command's document."""

import json
from pathlib import Path

import pytest

from infra.cli.command_line import printable
from infra.cli.document import CommandDocument, CommandResult
from infra.cli.main import run
from mcpist.files.reference import ErrorResponse, StandardResponse, check

SECRET = "ghp_" + "a" * 36


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["plan", "batch.jsonl"], "mcpist plan batch.jsonl"),
        (["call", "rag", "search_docs", "--params", '{"query": "a b"}'], None),
        (["--locale", "ja", "plan", "my file"], "mcpist --locale ja plan 'my file'"),
        (["schema", "--token", "abc", "rag"], "mcpist schema --token '***' rag"),
        (["schema", "--token=abc"], "mcpist schema '--token=***'"),
        (["grant", "connect", "github", "--key", SECRET], "mcpist grant connect github --key '***'"),
        (["call", "m", "t", "--params", json.dumps({"a": {"password": "x"}, "n": 1})], None),
        (["call", "m", "t", "--params", json.dumps({"text": [SECRET]})], None),
        (["call", "m", "t", "--params", '{"text": "' + SECRET], "mcpist call m t --params '***'"),
        (["schema", "--url", "https://uma:pw@example.com/mcp"], "mcpist schema --url '***'"),
        (["schema", "--url", "http://127.0.0.1:3000/mcp"], "mcpist schema --url http://127.0.0.1:3000/mcp"),
    ],
)
def test_the_whole_line_is_repeated_without_secrets(arguments: list[str], shown: str | None) -> None:
    line = printable(arguments)
    assert shown is None or line == shown
    assert not any(secret in line for secret in (SECRET, "abc", "pw@", '"x"'))


def test_other_parameters_stay_as_they_are() -> None:
    assert printable(["call", "--params", '{"query": 1}']) == "mcpist call --params '{\"query\": 1}'"


def test_a_command_answers_by_the_published_documents(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    batch = tmp_path / "batch.jsonl"
    for text, model in (('{"module":"rag","tool":"list_tags"}', StandardResponse), ("", ErrorResponse)):
        batch.write_text(text)
        run(["plan", str(batch)])
        document = check(model, json.loads(capsys.readouterr().out), "answer")
        assert document.command == f"mcpist plan {batch}"


def test_texts_are_metadata_and_files_are_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    file = {
        "path": "files/acme/uma/1",
        "sha256": "a" * 64,
        "size_bytes": 1,
        "content_type": "text/plain",
        "created_at": "2026-11-22T10:00:00Z",
    }
    assert CommandDocument(["call"]).succeed(CommandResult(["text"], {"url": "u"}, [file])) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["outputs"] == [file]
    assert document["metadata"] == {"url": "u", "texts": ["text"]}
