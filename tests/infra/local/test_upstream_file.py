"""The file of upstream servers on one machine, as the functions read it and as it changes."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.local.upstream_file import UpstreamFile, load_here
from mcpist.errors import InvalidConfiguration
from mcpist_services.upstream.configuration import load

SERVER = {"description": "Notes", "command": "sh", "env": {"KEY": "${NOTES_KEY}"}}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UpstreamFile:
    """A file of one server, and a folder for its copy."""
    monkeypatch.setenv("NOTES_KEY", "sesame")
    (tmp_path / "copies").mkdir()
    write(tmp_path / "mine.json", notes=SERVER)
    return UpstreamFile(tmp_path / "mine.json", tmp_path / "copies", reports.append)


TIME = {"description": "What time it is.", "command": "mcp-server-time"}
REMOTE = {"description": "Notes.", "type": "http", "url": "https://notes.example.com/mcp"}
reports: list[str] = []


def write(path: Path, **servers: Any) -> None:
    path.write_text(f"// mine\n{json.dumps({'mcpServers': servers})}", "utf-8")


def copied(file: UpstreamFile) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.copy.read_text("utf-8"))["mcpServers"]
    return content


def test_what_a_variable_holds_is_stored_as_a_secret_and_not_in_the_copy(file: UpstreamFile, aws: list[str]) -> None:
    file.read()
    file.store_secrets()
    name = "/mcpist/mcpist/upstreams/variables/notes/KEY"
    assert copied(file)["notes"]["env"] == {"KEY": f"ssm:{name}"}
    assert "sesame" not in file.copy.read_text("utf-8")
    assert boto3.client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"] == "sesame"
    assert aws


def test_a_change_is_copied_once_and_a_wrong_one_is_reported_and_changes_nothing(file: UpstreamFile) -> None:
    file.read()
    assert file.categories == ("notes",)
    assert not file.read_change()
    write(file.source, notes=SERVER, papers=SERVER | {"env": {}})
    assert file.read_change()
    assert file.categories == ("notes", "papers")
    assert not file.read_change()
    reports.clear()
    write(file.source, notes={"command": "sh"})
    assert not file.read_change()
    assert not file.read_change()
    assert [report for report in reports if "mcpServers.notes.description" in report] == reports
    assert len(reports) == 1
    assert list(copied(file)) == ["notes", "papers"]


def test_a_wrong_file_ends_the_start_and_a_missing_one_does_not(file: UpstreamFile) -> None:
    file.source.write_text("{")
    with pytest.raises(InvalidConfiguration):
        file.read()
    file.source.unlink()
    file.read()
    assert (file.categories, file.read_change()) == ((), False)


HERE = {"NOTES_KEY": "k3y", "FOLDER": "/data", "EMPTY": ""}


def test_a_file_of_one_machine_has_variables_and_keeps_no_value_that_may_be_secret(tmp_path: Path) -> None:
    child = TIME | {"args": ["--folder", "${FOLDER}", "${LEVEL:-low}"], "env": {"KEY": "${NOTES_KEY}", "E": "${EMPTY}"}}
    remote = REMOTE | {
        "url": "https://${HOST:-notes.example.com}/mcp",
        "headers": {"Authorization": "Key ${NOTES_KEY}"},
    }
    write(path := tmp_path / "mine.json", time=child, notes=remote)
    found, content, values = load_here(path, HERE)
    assert found.servers["time"].args == ("--folder", "/data", "low")
    assert found.servers["notes"].url == "https://notes.example.com/mcp"
    folder = "ssm:/mcpist/mcpist/upstreams/variables"
    assert found.servers["time"].env == {"KEY": f"{folder}/time/KEY", "E": ""}
    assert values == {
        f"{folder}/time/KEY": "k3y",
        f"{folder}/notes/Authorization": "Key k3y",
    }
    assert "k3y" not in json.dumps(content)
    path.write_text(json.dumps(content), "utf-8")
    assert load(path) == found


def test_a_variable_that_is_missing_is_named_with_its_place(tmp_path: Path) -> None:
    write(path := tmp_path / "mine.json", time=TIME | {"args": ["-x", "${NOWHERE}"]})
    with pytest.raises(InvalidConfiguration, match="there is no variable NOWHERE here") as raised:
        load_here(path, HERE)
    assert raised.value.details["field"] == "mcpServers.time.args[1]"
