"""An endpoint in the configuration files of MCP clients: added, replaced, taken out, and nothing else touched."""

import json
import os
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from infra.cli.client_files import CLIENT_FILES, ClientName, add, remove
from infra.cli.document import CommandError

URL = "https://mcp.example.com/mcp"
MCPORTER = Path(__file__).parents[2] / "peers/clients/node_modules/.bin/mcporter"
READ_BY_MCPORTER = ("cursor", "claude-code", "codex", "windsurf", "opencode", "vscode")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def parsed(file: Path) -> Any:
    return (tomllib.loads if file.suffix == ".toml" else json.loads)(file.read_text("utf-8"))


def written(client: str, text: str) -> Path:
    file = CLIENT_FILES[client].place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def test_each_client_can_be_named() -> None:
    assert {*get_args(ClientName.__value__)} == {*CLIENT_FILES}


def test_each_client_gets_its_entry_beside_what_it_has_and_loses_only_that() -> None:
    faults = []
    for client, known in CLIENT_FILES.items():
        if known.place.suffix == ".toml":
            text = f'# mine\nmodel = "x"\n\n[{known.section}.other]\ncommand = "a"\n\n[zoo]\nb = 1\n'
        else:
            text = (
                json.dumps({"theme": "ö", known.section: {"other": {"command": "a"}}}, indent=2, ensure_ascii=False)
                + "\n"
            )
        file = written(client, text)
        add(client, URL)
        first = file.read_text("utf-8")
        add(client, URL)
        servers = parsed(file)[known.section]
        again = file.read_text("utf-8") == first
        add(client, "https://other.example.com/mcp")
        replaced = parsed(file)[known.section]["mcpist"]
        remove(client)
        expected = {"other": {"command": "a"}, "mcpist": known.server(URL)}
        if not (servers == expected and again and replaced != expected["mcpist"]):
            faults.append((client, servers, again, replaced))
        if file.read_text("utf-8").rstrip() != text.rstrip():
            faults.append((client, file.read_text("utf-8")))
    assert not faults


def test_a_client_without_a_file_gets_one_that_only_its_person_reads() -> None:
    for client, known in CLIENT_FILES.items():
        result = add(client, URL)
        assert result.metadata["file"] == str(known.place)
        assert known.place.stat().st_mode & 0o777 == 0o600
        assert not list(known.place.parent.glob(f".{known.place.name}.*"))
    assert remove("zed", "nothing").metadata["removed"] is False


def test_readonly_a_name_and_an_organization_are_written() -> None:
    add("cursor", f"{URL}/acme", "reader", readonly=True)
    assert parsed(CLIENT_FILES["cursor"].place) == {"mcpServers": {"reader": {"url": f"{URL}/acme/readonly"}}}


def test_print_shows_what_to_write_and_writes_nothing() -> None:
    result = add("codex", URL, show=True)
    assert result.metadata["snippet"] == f'[mcp_servers.mcpist]\nurl = "{URL}"\n'
    assert not CLIENT_FILES["codex"].place.exists()


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("zed", '{\n  // my theme\n  "theme": "One"\n}\n'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", "[]"),
        ("codex", "[mcp_servers"),
        ("codex", 'mcp_servers = {mcpist = {url = "a"}}\n'),
    ],
)
def test_a_file_that_a_change_would_spoil_is_refused_and_stays(client: Any, text: str) -> None:
    file = written(client, text)
    with pytest.raises(CommandError) as refused:
        add(client, URL)
    assert "--print" in refused.value.error["hint"]
    assert file.read_text("utf-8") == text


@pytest.mark.parametrize("change", [add, remove])
def test_a_name_that_a_file_could_read_otherwise_is_refused(change: Callable[..., Any]) -> None:
    with pytest.raises(CommandError, match="is no name of a server"):
        change("codex", name='a"]\n[b')


def test_a_table_of_codex_goes_with_its_tables() -> None:
    text = '[mcp_servers.mcpist]\nurl = "a"\n\n[mcp_servers.mcpist.env]\nA = "1"\n\n[mcp_servers.mcpist2]\nurl = "b"\n'
    file = written("codex", text)
    remove("codex")
    assert parsed(file) == {"mcp_servers": {"mcpist2": {"url": "b"}}}


def test_a_link_stays_a_link_and_permissions_stay(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}", "utf-8")
    real.chmod(0o640)
    file = CLIENT_FILES["cursor"].place
    file.parent.mkdir()
    file.symlink_to(real)
    add("cursor", URL)
    assert file.is_symlink()
    assert (parsed(real)["mcpServers"], real.stat().st_mode & 0o777) == ({"mcpist": {"url": URL}}, 0o640)


def test_nobody_else_reads_the_file_while_it_is_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []

    def replaced(draft: Path, _: Path) -> None:
        modes.append(draft.stat().st_mode & 0o777)
        raise OSError(28, "No space left on device")

    created = os.open

    def opened(path: Any, flags: int, mode: int = 0o777) -> int:
        modes.append(mode if str(path).startswith(str(home)) else 0)
        return created(path, flags, mode)

    monkeypatch.setattr("infra.cli.whole_file.os.open", opened)
    monkeypatch.setattr(Path, "replace", replaced)
    file = written("cursor", "{}")
    file.chmod(0o640)
    modes.clear()
    with pytest.raises(CommandError, match="No space left"):
        add("cursor", URL)
    assert modes == [0o600, 0o640]
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"]


def test_a_place_that_cannot_be_written_is_refused(home: Path) -> None:
    (home / ".cursor").write_text("a file, no folder")
    with pytest.raises(CommandError, match=r"\.cursor/mcp\.json: it cannot be"):
        add("cursor", URL)


@pytest.mark.slow
def test_a_program_by_others_reads_what_was_written(home: Path) -> None:
    for client in READ_BY_MCPORTER:
        add(client, URL)  # type: ignore[arg-type]
        command = [str(MCPORTER), "config", "import", client, "--json"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        done = subprocess.run(command, capture_output=True, text=True, cwd=home, env=environment, check=False)
        (entry,) = json.loads(done.stdout)["entries"]
        assert (entry["name"], entry["entry"]["baseUrl"]) == ("mcpist", URL)
