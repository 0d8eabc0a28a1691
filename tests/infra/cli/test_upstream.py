"""`mcpist upstream`, against servers that nobody here wrote."""

import hashlib
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Prompt

from infra.cli.document import CALLER, exit_code
from infra.cli.main import run
from infra.cli.upstream_import import split
from infra.cli.upstream_listings import rows
from infra.local.names import REGION
from mcpist.aws.clients import client
from mcpist.memory import forget_all, forget_entries
from mcpist_services.upstream import lists
from mcpist_services.upstream.categories import counts, resolve_all
from mcpist_services.upstream.configuration import UpstreamConfiguration, load
from mcpist_services.upstream.listing import Listing
from mcpist_services.upstream.trust import Pin
from tests import members
from tests.audit_items import audit_items
from tests.peers import npm

ROOT = Path(__file__).parents[3]
SECRET = "s3cr3t-Value-0123456789"
STACK = ("--stack", "acme-mcpist", "--region", REGION)


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of npm's servers."""
    return npm.modules() / ".bin"


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What a command that succeeds says."""
    code = run(["upstream", *arguments])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0, document
    return document["metadata"]


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The error of a command that fails."""
    code = run(["upstream", *arguments])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == exit_code(document["error"]["code"])
    return document["error"]


def written(folder: Path, content: Any, name: str = "upstreams.json") -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def child(command: object, *args: str, **more: Any) -> dict[str, Any]:
    return {"description": "A server.", "command": str(command), "args": list(args), "timeout_seconds": 55, **more}


@pytest.fixture
def disk(nowhere: Path, programs: Path) -> str:
    """A file with npm's file server, some of whose tools are named, some matched, one unknown."""
    (nowhere / "served").mkdir()
    category = {
        "description": "Reading.",
        "server": "disk",
        "tools": {
            "includeNames": ["mcp__disk__read_text_file", "raed_file"],
            "includePatterns": ["list_*", "write_*"],
            "overrides": {"write_file": {"enabled": False}},
        },
    }
    server = child(programs / "mcp-server-filesystem", str(nowhere / "served"))
    return written(nowhere, {"mcpServers": {"disk": server}, "categories": {"disk.read": category}})


# -- list, check ----------------------------------------------------------------------------------------


def test_a_files_servers_and_categories_arelisted(capsys: pytest.CaptureFixture[str], disk: str) -> None:
    found = command(capsys, "list", disk)
    assert [(one["name"], one["type"]) for one in found["servers"]] == [("disk", "stdio")]
    assert found["categories"] == [{"name": "disk.read", "servers": ["disk"], "description": "Reading."}]


def test_a_check_lists_the_servers_tools_and_reports_unresolved_patterns(
    capsys: pytest.CaptureFixture[str], disk: str
) -> None:
    found = command(capsys, "check", disk)
    (server,) = found["servers"]
    assert server["answers"]
    assert server["tools"] > 10
    (category,) = found["categories"]
    assert category["tools"] == 1
    assert category["disabled"] == ["write_file"]
    assert category["unresolved"] == ["raed_file"]
    assert "list_directory" in category["new"]
    assert found["counts"]["unresolved"] == 1


def test_a_dead_server_fails_the_check_and_the_others_are_reported(
    capsys: pytest.CaptureFixture[str], nowhere: Path, programs: Path
) -> None:
    servers = {
        "dead": {"description": "Nothing.", "type": "http", "url": "http://127.0.0.1:9/mcp"},
        "none": child("/nowhere/at/all"),
        "theirs": {
            "description": "Notes.",
            "type": "http",
            "url": "https://notes.example.com/mcp",
            "headers": {"Authorization": "grant:notes"},
        },
        "graph": child(programs / "mcp-server-memory", env={"MEMORY_FILE_PATH": str(nowhere / "memory.json")}),
    }
    error = failure(capsys, "check", written(nowhere, {"mcpServers": servers}))
    assert error["code"] == "UPSTREAM_UNAVAILABLE"
    assert error["message"].startswith("dead does not answer")
    assert {one["name"]: one["answers"] for one in error["details"]["servers"]} == {
        "dead": False,
        "none": False,
        "theirs": False,
        "graph": True,
    }


@pytest.mark.parametrize("arguments", [["check"], ["check", "--deploy"], ["list"]])
def test_a_broken_file_is_refused_with_its_path_and_the_reason(
    capsys: pytest.CaptureFixture[str], nowhere: Path, arguments: list[str]
) -> None:
    file = written(nowhere, {"mcpServers": {"one": {"command": "x"}}})
    error = failure(capsys, *arguments, file)
    assert error["code"] == "VALIDATION_ERROR"
    assert error["message"] == f"{file}: mcpServers.one.description: Field required"
    assert failure(capsys, *arguments, "none.json")["message"] == "none.json: file: No such file or directory"


@pytest.mark.usefixtures("nowhere")
def test_the_default_file_is_the_deployed_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(capsys, "check", "--deploy")["file"] == str(ROOT / "layers/config/upstreams.json")


@pytest.mark.usefixtures("deployed")
def test_stored_parameters_are_read_for_a_check_and_missing_ones_reported(
    capsys: pytest.CaptureFixture[str], nowhere: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = child(programs / "mcp-server-everything", env={"X_TOKEN": "ssm:/mcpist/acme-mcpist/upstreams/x/token"})
    file = written(nowhere, {"mcpServers": {"x": server}})
    assert "upstreams/x/token is not stored" in failure(capsys, "check", file, *STACK)["message"]
    assert "upstreams/x/token is not stored" in failure(capsys, "check", file)["message"]
    monkeypatch.setattr("sys.stdin", StringIO(f"{SECRET}\n"))
    stored = command(capsys, "secret", "set", "x/token", *STACK)
    assert stored["reference"] == "ssm:/mcpist/acme-mcpist/upstreams/x/token"
    asked = client("ssm").get_parameter(Name="/mcpist/acme-mcpist/upstreams/x/token", WithDecryption=True)["Parameter"]
    assert (asked["Type"], asked["Value"]) == ("SecureString", SECRET)
    assert command(capsys, "check", file, *STACK)["servers"][0]["answers"]


@pytest.mark.usefixtures("deployed", "nowhere")
@pytest.mark.parametrize("name", ["", "ssm:/mcpist/other/upstreams/x/token", "x/../y", "x/to ken"])
def test_a_secret_has_a_name_that_only_this_stack_can_read(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert "no name of a secret" in failure(capsys, "secret", "set", name, *STACK)["message"]


# -- what Lambda can run --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (child("npx", "-y", "mcp-server-everything"), "npx fetches a server when it starts"),
        (child("/usr/bin/uvx", "mcp-server-time"), "uvx fetches a server when it starts"),
        (child("docker", "run", "x"), "docker fetches"),
        (child("serena"), "serena is not on Lambda"),
        (child("/usr/local/bin/serena"), "is not on Lambda"),
        (child("/opt/config/servers/none"), "servers/none is not in"),
        (child("/opt/config/servers/plain"), "chmod +x"),
        (child("/opt/config/../bin/server"), "is not"),
        (child("python3", "server.py"), "server.py is not on Lambda"),
        (child("python3", "/opt/config/servers/none.py"), "none.py is not on Lambda"),
        (child("python3", "-m", "clock"), "the module clock is in no folder of its PYTHONPATH"),
        (child("python3", "-m", "alarm", env={"PYTHONPATH": "/opt/config/servers"}), "the module alarm is in no"),
        ({"description": "x", "type": "http", "url": "http://localhost:8000/mcp"}, "only the internet"),
        ({"description": "x", "type": "http", "url": "http://10.0.0.3/mcp"}, "only the internet"),
        ({"description": "x", "type": "sse", "url": "http://[::1]/sse"}, "only the internet"),
        ({"description": "x", "type": "http", "url": "http://169.254.169.254/mcp"}, "only the internet"),
        ({"description": "x", "type": "http", "url": "https://notes.internal/mcp"}, "only the internet"),
        (
            {"description": "x", "type": "http", "url": "https://x.example.com", "headers": {"Api-Key": "ssm:/x/key"}},
            "ssm:/x/key: the functions may read parameters only below /mcpist/STACK/upstreams",
        ),
    ],
)
def test_a_server_that_lambda_cannot_run_is_refused_before_a_deployment(
    capsys: pytest.CaptureFixture[str], nowhere: Path, server: dict[str, Any], problem: str
) -> None:
    packaged(nowhere)
    error = failure(capsys, "check", "--deploy", written(nowhere, {"mcpServers": {"one": server}}))
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"]["field"].startswith('mcpServers["one"]')
    assert problem in error["message"]


@pytest.mark.parametrize(
    "server",
    [
        child("/opt/config/servers/ready"),
        child("python3", "/opt/config/servers/clock/main.py"),
        child("python3", "-m", "clock.main", env={"PYTHONPATH": "/opt/config/servers"}),
        {
            "description": "x",
            "type": "http",
            "url": "https://notes.example.com/mcp",
            "headers": {"Api-Key": "ssm:/mcpist/acme-prod/upstreams/notes/key"},
        },
    ],
)
def test_packaged_servers_can_be_deployed(
    capsys: pytest.CaptureFixture[str], nowhere: Path, server: dict[str, Any]
) -> None:
    packaged(nowhere)
    assert command(capsys, "check", "--deploy", written(nowhere, {"mcpServers": {"one": server}}))["servers"] == 1


def packaged(folder: Path) -> None:
    """Servers as an owner puts them into the config layer."""
    (folder / "servers/clock").mkdir(parents=True)
    (folder / "servers/clock/main.py").touch()
    (folder / "servers/plain").touch(0o644)
    (folder / "servers/ready").touch(0o755)


# -- tools, approve -------------------------------------------------------------------------------------


def test_tools_that_are_not_shown_have_a_reason(capsys: pytest.CaptureFixture[str], disk: str) -> None:
    found = {one["tool"]: one for one in command(capsys, "tools", "--upstreams", disk)["tools"]}
    assert found["read_text_file"]["state"] == "enabled"
    assert found["list_directory"]["state"] == "new"
    assert found["write_file"]["state"] == "disabled"
    assert len(found["list_directory"]["fingerprint"]) == 64
    assert "move_file" not in found
    assert "nope" in failure(capsys, "tools", "nope", "--upstreams", disk)["message"]


@pytest.mark.usefixtures("deployed")
def test_an_approval_is_in_the_audit_of_the_stack_s_organizations(
    capsys: pytest.CaptureFixture[str], disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in ("Directory", "Audit"):
        asked = {"StackName": "acme-mcpist", "LogicalResourceId": table}
        found = client("cloudformation").describe_stack_resource(**asked)["StackResourceDetail"]
        monkeypatch.setenv(f"{table.upper()}_TABLE", found["PhysicalResourceId"])
    forget_all()
    members.put_organization("globex", name="Globex")
    command(capsys, "approve", "disk", "list_directory", "--upstreams", disk, *STACK)
    (row,) = audit_items("globex")
    assert (row["tool"], row["target"], [*row["after"]]) == ("upstreams.approve", "upstreams.disk", ["list_directory"])


@pytest.mark.usefixtures("deployed")
def test_an_approval_holds_until_the_tool_changes(capsys: pytest.CaptureFixture[str], disk: str) -> None:
    forget_entries()
    approved = command(capsys, "approve", "disk", "list_directory", "--upstreams", disk, *STACK)
    assert approved["approved"] == ["list_directory"]
    assert [one["tool"] for one in approved["waiting"]] == ["list_directory_with_sizes", "list_allowed_directories"]
    assert states(capsys, disk)["list_directory"] == "enabled"
    pin = lists.pins("disk")["list_directory"]
    lists.approve("disk", [Pin("list_directory", "0" * 64, pin.by, pin.approved_at)])
    assert states(capsys, disk)["list_directory"] == "changed"
    everything = command(capsys, "approve", "disk", "--upstreams", disk, *STACK)
    assert set(everything["approved"]) == {
        "list_directory",
        "list_directory_with_sizes",
        "list_allowed_directories",
    }
    assert lists.pins("disk")["list_directory"].fingerprint == pin.fingerprint
    assert command(capsys, "approve", "disk", "--upstreams", disk, *STACK)["approved"] == []


@pytest.mark.slow
@pytest.mark.usefixtures("deployed")
def test_a_changed_tool_is_listed_with_what_changed_since_its_approval(
    capsys: pytest.CaptureFixture[str], disk: str
) -> None:
    forget_entries()
    command(capsys, "approve", "disk", "list_directory", "--upstreams", disk, *STACK)
    (row,) = (one for one in listed(capsys, disk) if one["tool"] == "list_directory")
    assert (row["state"], row["changes"]) == ("enabled", [])
    pin = lists.pins("disk")["list_directory"]
    text = lists.approved_texts_of("disk", {"list_directory": pin})["list_directory"]
    shown = json.dumps(json.loads(text) | {"title": "Innocent\u202e"})
    lists.approve("disk", [replace(pin, text=shown, fingerprint=hashlib.sha256(shown.encode()).hexdigest())])
    (row,) = (one for one in listed(capsys, disk) if one["tool"] == "list_directory")
    assert row["state"] == "changed"
    assert "- title: Innocent\u202e" in row["changes"]
    assert [line for line in row["changes"] if line.startswith("+ title: ")]
    lists.approve("disk", [replace(pin, text="", fingerprint="0" * 64)])
    (row,) = (one for one in listed(capsys, disk) if one["tool"] == "list_directory")
    assert (row["state"], row["changes"]) == ("changed", []), "its approved text was not kept"


def test_a_prompt_that_waits_for_approval_is_listed_with_its_flags() -> None:
    server = {"description": "Notes", "command": "notes"}
    configured = UpstreamConfiguration.model_validate({"mcpServers": {"notes": server}})
    prompts = (Prompt(name="plain"), Prompt(name="odd", description="Do it\u202e"), Prompt(name="other"))
    listing = Listing(tools=(), ttl_seconds=None, scope="public", prompts=prompts)
    pins = {"prompts other": Pin("prompts other", "0" * 64, "sight", 1)}
    odd, other = rows(configured, {"notes": listing}, {"notes": pins})
    assert (odd.chosen.tool, odd.state, odd.effect) == ("prompts odd", "new", "reads")
    assert odd.flags == ("hidden characters: U+202E",)
    assert (other.chosen.tool, other.state, other.awaits_approval) == ("prompts other", "changed", True)


def test_a_file_in_the_place_of_a_category_is_recognized(capsys: pytest.CaptureFixture[str], disk: str) -> None:
    assert failure(capsys, "tools", disk)["hint"] == "Name a file by --upstreams FILE."


@pytest.mark.usefixtures("deployed")
def test_only_existing_tools_can_be_approved(capsys: pytest.CaptureFixture[str], disk: str) -> None:
    forget_entries()
    assert '"nope"' in failure(capsys, "approve", "nope", "--upstreams", disk, *STACK)["message"]
    error = failure(capsys, "approve", "disk", "list_directory", "nope", "--upstreams", disk, *STACK)
    assert '"nope"' in error["message"]
    assert "list_directory" in error["hint"]
    assert not lists.pins("disk")


def test_an_approval_needs_a_stack(capsys: pytest.CaptureFixture[str], disk: str) -> None:
    assert "mcpist up" in failure(capsys, "approve", "disk", "--upstreams", disk)["hint"]


def states(capsys: pytest.CaptureFixture[str], file: str) -> dict[str, str]:
    return {one["tool"]: one["state"] for one in listed(capsys, file)}


def listed(capsys: pytest.CaptureFixture[str], file: str) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = command(capsys, "tools", "disk", "--upstreams", file, *STACK)["tools"]
    return tools


# -- import ---------------------------------------------------------------------------------------------


def imported(capsys: pytest.CaptureFixture[str], folder: Path, content: Any, *options: str) -> dict[str, Any]:
    client = written(folder, content, "client.json")
    found = command(capsys, "import", client, "--output", str(folder / "proposed.json"), *options)
    assert SECRET not in json.dumps(found)
    assert SECRET not in (folder / "proposed.json").read_text()
    assert load(folder / "proposed.json").all_categories
    (folder / "proposed.json").unlink()
    return found


@pytest.mark.parametrize(
    "content",
    [
        {"mcpServers": {"time": {"command": "clock", "args": ["--utc"]}}},
        {"projects": {"/srv/one": {"mcpServers": {"time": {"command": "clock", "args": ["--utc"]}}}, "/srv/two": {}}},
        {"servers": {"time": {"type": "stdio", "command": "clock", "args": ["--utc"]}}, "inputs": []},
        {"mcp": {"servers": {"time": {"command": "clock", "args": ["--utc"]}}}},
        '{"mcpServers": {"time": {"command": "clock", "args": ["--utc"],}, }, // mine\n}',
    ],
)
def test_servers_are_found_wherever_a_client_keeps_them(
    capsys: pytest.CaptureFixture[str], nowhere: Path, content: Any
) -> None:
    (server,) = imported(capsys, nowhere, content, "--offline")["upstreams"]["mcpServers"].items()
    assert server == ("time", {"description": "The tools of time.", "command": "clock", "args": ["--utc"]})


def test_the_same_server_of_two_projects_is_one_and_another_of_its_name_gets_its_own(
    capsys: pytest.CaptureFixture[str], nowhere: Path
) -> None:
    projects = {name: {"mcpServers": {"time": {"command": name[1:]}}} for name in ("/clock", "/watch")}
    content = {
        "mcpServers": {"time": {"command": "clock"}, "off": {"command": "x", "disabled": True}},
        "projects": projects,
    }
    found = imported(capsys, nowhere, content, "--offline")["upstreams"]["mcpServers"]
    assert {name: one["command"] for name, one in found.items()} == {"time": "clock", "time-2": "watch"}


@pytest.mark.parametrize(
    ("server", "reference", "where"),
    [
        (
            {"url": "https://x.example.com/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
            "Authorization",
            "headers",
        ),
        ({"url": "https://x.example.com/mcp", "headers": {"X-Key": "${input:key}"}}, "X-Key", "headers"),
        ({"type": "sse", "url": "https://x.example.com/sse", "headers": {"Api-Key": SECRET}}, "Api-Key", "headers"),
        ({"command": "x", "env": {"X_TOKEN": SECRET, "MODE": "fast"}}, "X_TOKEN", "env"),
        ({"command": "x", "env": {"THING": "${THING}"}}, "THING", "env"),
        ({"command": "x", "args": ["--api-key", SECRET, "--fast"]}, "API_KEY", "env"),
        ({"command": "x", "args": [f"--token={SECRET}"]}, "TOKEN", "env"),
        (
            {
                "command": "npx",
                "args": ["mcp-remote", "https://x.example.com/mcp", "--header", f"Authorization: Bearer {SECRET}"],
            },
            "Authorization",
            "headers",
        ),
    ],
)
def test_secrets_become_references_and_notes_say_where_to_store_them(
    capsys: pytest.CaptureFixture[str], nowhere: Path, server: dict[str, Any], reference: str, where: str
) -> None:
    found = imported(capsys, nowhere, {"mcpServers": {"x": server}}, "--offline")
    assert found["upstreams"]["mcpServers"]["x"][where][reference] == f"ssm:/mcpist/mcpist/upstreams/x/{reference}"
    assert any(f"/mcpist/mcpist/upstreams/x/{reference}" in note for note in found["notes"]["x"])
    assert any(note.endswith(f": mcpist upstream secret set x/{reference}") for note in found["notes"]["x"])


def test_secrets_without_a_place_are_left_out_and_noted(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    servers = {
        "a": {"url": f"https://uma:{SECRET}@x.example.com/mcp?apiKey={SECRET}&view=all"},
        "b": {"command": "x", "args": ["run", f"API_TOKEN={SECRET}"]},
    }
    found = imported(capsys, nowhere, {"mcpServers": servers}, "--offline")
    assert found["upstreams"]["mcpServers"]["a"]["url"] == "https://x.example.com/mcp?view=all"
    assert found["upstreams"]["mcpServers"]["b"]["args"] == ["run"]
    assert "left out" in found["notes"]["a"][0]
    assert "argument 2" in found["notes"]["b"][0]


def test_a_bridge_to_a_remote_server_is_replaced_by_its_url(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    server = {"command": "npx", "args": ["-y", "mcp-remote@latest", "https://x.example.com/sse"]}
    found = imported(capsys, nowhere, {"mcpServers": {"x": server}}, "--offline")
    assert found["upstreams"]["mcpServers"]["x"] == {
        "description": "The tools of x.",
        "type": "sse",
        "url": "https://x.example.com/sse",
    }


def test_names_with_other_characters_are_changed(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    servers = {"my notes!": {"command": "x"}, "github": {"command": "y"}, "日本": {"command": "z"}}
    found = imported(capsys, nowhere, {"mcpServers": servers}, "--offline")
    assert list(found["upstreams"]["mcpServers"]) == ["my-notes", "github-mcp", "server"]


def test_servers_that_answer_are_split_by_what_their_tools_are_about(
    capsys: pytest.CaptureFixture[str], nowhere: Path, programs: Path
) -> None:
    servers = {
        "everything": {"command": str(programs / "mcp-server-everything"), "env": {"X_TOKEN": SECRET}},
        "silent": {"command": "/nowhere/at/all"},
    }
    found = imported(capsys, nowhere, {"mcpServers": servers})
    categories = found["upstreams"]["categories"]
    named = [name for one in categories.values() for name in one["tools"].get("includeNames", [])]
    assert {"echo", "get-sum"} <= set(named)
    assert len(named) == len(set(named))
    assert all(name.startswith("everything") for name, one in categories.items() if one["server"] == "everything")
    assert categories["silent"]["tools"] == {"includePatterns": ["*"]}
    assert "did not respond" in found["notes"]["silent"][0]


@pytest.mark.parametrize("content", ["{", {}, [], {"mcpServers": {}}])
def test_a_file_without_servers_is_a_typed_error(
    capsys: pytest.CaptureFixture[str], nowhere: Path, content: Any
) -> None:
    error = failure(capsys, "import", written(nowhere, content), "--offline")
    assert error["hint"]


def test_a_server_that_cannot_be_imported_is_named_and_the_others_are_imported(
    capsys: pytest.CaptureFixture[str], nowhere: Path
) -> None:
    broken = {"x": {"args": [SECRET]}, "y": {"type": "ws", "url": "wss://y.example.com"}}
    found = imported(capsys, nowhere, {"mcpServers": {**broken, "z": {"command": "z"}}}, "--offline")
    assert list(found["upstreams"]["mcpServers"]) == list(found["upstreams"]["categories"]) == ["z"]
    assert "needs one" in found["notes"]["x"][0]
    assert "https://" in found["notes"]["y"][0]
    error = failure(capsys, "import", written(nowhere, {"mcpServers": broken}), "--offline")
    assert set(error["details"]) == {"x", "y"}
    assert SECRET not in json.dumps(error)


@pytest.mark.parametrize("content", ["{", {"mcpServers": {"one": {"command": "x"}}}, None])
def test_up_does_not_start_with_a_broken_file_or_none(
    capsys: pytest.CaptureFixture[str], nowhere: Path, content: Any
) -> None:
    file = str(nowhere / "none.json") if content is None else written(nowhere, content)
    assert run(["up", "--upstreams", file]) == CALLER
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == ("FILE_NOT_FOUND" if content is None else "VALIDATION_ERROR")
    assert file in error["message"]


def test_an_existing_file_is_not_overwritten(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    file = written(nowhere, {"mcpServers": {"x": {"command": "x"}}})
    assert "already" in failure(capsys, "import", file, "--output", file, "--offline")["message"]


def test_tools_are_split_by_their_nouns_else_by_whether_they_read() -> None:
    parts = split(
        ["read_file", "list_files", "delete_file", "write_memory", "read_memory", "listMemories", "think", "plan"]
    )
    assert parts == {
        "file": ["read_file", "list_files", "delete_file"],
        "memory": ["write_memory", "read_memory", "listMemories"],
        "other": ["think", "plan"],
    }
    assert split(["git_add", "git_log", "git_diff"]) == {"": ["git_add", "git_log", "git_diff"]}
    assert split(["get_a", "get_b", "list_c", "set_d", "set_e", "put_f"]) == {
        "read": ["get_a", "get_b", "list_c"],
        "write": ["set_d", "set_e", "put_f"],
    }
    assert split([]) == {"": []}


# -- the example ----------------------------------------------------------------------------------------


# What Serena 2.1.0 lists, started as the example says.
SERENA = """
    create_text_file replace_content replace_in_files replace_symbol_body insert_after_symbol insert_before_symbol
    read_file list_dir find_file search_for_pattern get_symbols_overview find_symbol find_referencing_symbols
    find_implementations find_declaration get_diagnostics_for_file rename_symbol safe_delete_symbol write_memory
    read_memory list_memories delete_memory rename_memory edit_memory execute_shell_command activate_project
    get_current_config onboarding initial_instructions
"""


def test_the_example_for_serena_has_all_tools_in_five_categories_with_the_dangerous_ones_off() -> None:
    found = load(ROOT / "examples/serena.json")
    assert list(found.all_categories) == ["serena.fs", "serena.code", "serena.memory", "serena.session", "serena.meta"]
    names = SERENA.split()
    resolved = resolve_all(found, {"serena": names})
    chosen = [chosen for one in resolved for chosen in one.tools.values()]
    assert sorted(one.tool for one in chosen) == sorted(names)
    assert all(one.named for one in chosen)
    assert {one.tool for one in chosen if not one.enabled} == {
        "create_text_file",
        "delete_memory",
        "execute_shell_command",
        "replace_in_files",
        "safe_delete_symbol",
    }
    assert counts(resolved) == {"categories": 5, "tools": 24, "disabled": 5, "unresolved": 0}


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.json")), ids=lambda path: path.stem)
def test_every_example_loads_and_names_its_schema(example: Path) -> None:
    found = load(example)
    assert found.categories
    assert (example.parent / found.schema_address).is_file()
