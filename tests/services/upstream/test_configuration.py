import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcpist import settings
from mcpist.errors import InvalidConfiguration
from mcpist_services.upstream.configuration import (
    UpstreamConfiguration,
    UpstreamServer,
    configuration,
    load,
)
from scripts.reference import UPSTREAMS_SCHEMA, upstreams_schema

ROOT = Path(__file__).parents[3]
TIME = {"description": "What time it is.", "command": "mcp-server-time"}
REMOTE = {"description": "Notes.", "type": "http", "url": "https://notes.example.com/mcp"}


def written(folder: Path, content: Any) -> Path:
    path = folder / "upstreams.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def loaded(folder: Path, **content: Any) -> UpstreamConfiguration:
    return load(written(folder, content))


def refused(folder: Path, content: Any) -> tuple[str, str]:
    """The place and the reason for which a file is refused."""
    path = written(folder, content)
    with pytest.raises(InvalidConfiguration) as raised:
        load(path)
    assert raised.value.details["path"] == str(path)
    return raised.value.details["field"], raised.value.details["problem"]


def with_server(**more: Any) -> dict[str, Any]:
    return {"mcpServers": {"one": {**REMOTE, **more}}}


def with_child(**more: Any) -> dict[str, Any]:
    return {"mcpServers": {"one": {**TIME, **more}}}


def with_category(**more: Any) -> dict[str, Any]:
    return {"mcpServers": {"time": TIME}, "categories": {"my.clock": {"description": "A clock.", **more}}}


# -- what a file says -----------------------------------------------------------------------------------


def test_a_file_may_have_comments_and_trailing_commas(tmp_path: Path) -> None:
    text = """\
    // where we keep time
    { "$schema": "./upstreams.schema.json",
      "mcpServers": { /* one
      is enough */ "time": {"description": "A // clock, \\"/* so */\\",}", "command": "x", "args": ["a,]",],}, }
    }"""
    found = load(written(tmp_path, text)).servers["time"]
    assert (found.description, found.args) == ('A // clock, "/* so */",}', ("a,]",))


def test_what_is_not_said_has_its_usual_value(tmp_path: Path) -> None:
    server = loaded(tmp_path, mcpServers={"time": TIME}).servers["time"]
    assert (server.type, server.timeout_seconds, server.result_bytes, server.concurrency) == ("stdio", 20, 5_000_000, 8)


def test_a_server_without_a_category_is_one(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        mcpServers={"time": TIME, "notes": REMOTE},
        categories={"notes.read": {"description": "Reading.", "server": "notes"}},
    )
    assert list(found.all_categories) == ["time", "notes.read"]
    assert found.all_categories["time"].description == TIME["description"]
    assert found.all_categories["time"].servers == ("time",)


def test_a_category_may_be_of_several_servers(tmp_path: Path) -> None:
    category = {"description": "Both.", "server": ["time", "notes"]}
    found = loaded(tmp_path, mcpServers={"time": TIME, "notes": REMOTE}, categories={"both": category})
    assert found.all_categories["both"].servers == ("time", "notes")
    assert list(found.all_categories) == ["both"]


def test_references_are_filled_in_and_a_grant_is_a_bearer_token() -> None:
    server = UpstreamServer(
        description="Notes.",
        type="http",
        url="https://notes.example.com/mcp",
        headers={"Authorization": "grant:notes", "X-Api-Key": "ssm:/notes/key", "Accept-Language": "ja"},
    )
    assert server.references == {"grant:notes", "ssm:/notes/key"}
    assert server.grants == {"notes"}
    resolved_values = server.resolve_values({"grant:notes": "t0ken", "ssm:/notes/key": "k3y"})
    assert resolved_values == {"Authorization": "Bearer t0ken", "X-Api-Key": "k3y", "Accept-Language": "ja"}
    child = UpstreamServer(description="Notes.", command="notes", env={"NOTES_TOKEN": "ssm:/notes/key"})
    assert child.resolve_values({"ssm:/notes/key": "k3y"}) == {"NOTES_TOKEN": "k3y"}


# -- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "field", "problem"),
    [
        ("{", "file", "line 1 column 2"),
        ('{"mcpServers": {},\n "mcpServers": {}}', "file", '"mcpServers" stands twice'),
        ("[]", "file", "valid dictionary"),
        ({"servers": {}}, "servers", "not permitted"),
        (with_child(description=""), "mcpServers.one.description", "at least 1"),
        ({"mcpServers": {"one": {"command": "x"}}}, "mcpServers.one.description", "required"),
        ({"mcpServers": {"on e": TIME}}, 'mcpServers["on e"]', "pattern"),
        (with_child(type="pipe"), "mcpServers.one.type", "'stdio'"),
        (with_child(command=""), "mcpServers.one.command", "needs one"),
        (with_child(url="https://x.example.com"), "mcpServers.one.url", "has none"),
        (with_server(args=["x"]), "mcpServers.one.args", "has none"),
        (with_server(url="ftp://x.example.com"), "mcpServers.one.url", "https://"),
        (with_server(url=""), "mcpServers.one.url", "https://"),
        (with_server(noise=["a b"]), "mcpServers.one.noise[0]", "pattern"),
        (with_server(timeout_seconds=0), "mcpServers.one.timeout_seconds", "greater than 0"),
        (with_server(headers={"X-Thing": "a\r\nb"}), "mcpServers.one.headers", "pattern"),
        (with_server(headers={"Host": "other.example.com"}), "mcpServers.one.headers", "Host is no header"),
        (with_server(headers={"host": "grant:notes"}), "mcpServers.one.headers", "host is no header"),
        (with_server(headers={"Transfer-Encoding": "chunked"}), "mcpServers.one.headers", "is no header"),
        (with_server(headers={"Authorization": "none"}), "mcpServers.one.headers", "Authorization is no header"),
        (with_server(headers={"X-A": "1", "x-a": "2"}), "mcpServers.one.headers", "stands twice"),
        ({"mcpServers": {"login": TIME}}, "mcpServers.login", "one of MCPist's own"),
        (with_category(), 'categories["my.clock"].server', "required"),
        (with_category(server="clock"), 'categories["my.clock"].server', 'no server "clock"; there are: time'),
        (with_category(server=[]), 'categories["my.clock"].server', "each once"),
        (with_category(server=5), 'categories["my.clock"].server', "tuple"),
        (with_category(server=["time", "time"]), 'categories["my.clock"].server', "each once"),
        (
            with_category(server="time", tools={"includeNames": ["now", "now"]}),
            'categories["my.clock"].tools.includeNames',
            '"now" stands twice',
        ),
        *(
            (
                with_category(server="time", tools={"overrides": {"now": {"enabled": value}}}),
                'categories["my.clock"].tools.overrides.now.enabled',
                "boolean",
            )
            for value in ("perhaps", "yes", "false", 0, 1.0)
        ),
        (with_category(server="time", effect="changes"), 'categories["my.clock"].effect', "'reads'"),
        (with_category(server="time", tools={"includes": []}), 'categories["my.clock"].tools.includes', "permitted"),
    ],
)
def test_a_broken_file_is_refused_with_the_place_and_the_reason(
    tmp_path: Path, content: Any, field: str, problem: str
) -> None:
    found = refused(tmp_path, content)
    assert found[0].startswith(field), found
    assert problem in found[1], found


@pytest.mark.parametrize(
    "server",
    [TIME | {"args": ["${NOTES_KEY}"]}, TIME | {"env": {"LEVEL": "${NOTES_KEY}"}}, TIME | {"env": {"A": "x${B}"}}],
)
def test_a_deployment_reads_no_variables(tmp_path: Path, server: dict[str, Any]) -> None:
    assert "which is filled in on one machine alone" in refused(tmp_path, {"mcpServers": {"time": server}})[1]


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, {"mcpServers": {"one": {"command": "x"}, "two": {**TIME, "type": "pipe"}}})
    with pytest.raises(InvalidConfiguration) as raised:
        load(path)
    fields = [problem["field"] for problem in raised.value.details["problems"]]
    assert fields == ["mcpServers.one.description", "mcpServers.two.type"]


@pytest.mark.parametrize(
    "name", ["call", "batch", "get-module-schema", "get_category_tools", "rag", "GitHub", "jira.x"]
)
def test_names_of_ours_are_taken(tmp_path: Path, name: str) -> None:
    category = {"description": "A clock.", "server": "time"}
    field, problem = refused(tmp_path, {"mcpServers": {"time": TIME}, "categories": {name: category}})
    assert field.startswith("categories")
    assert "MCPist's own" in problem
    assert "MCPist's own" in refused(tmp_path, {"mcpServers": {name: TIME}})[1]


def test_a_category_is_not_named_like_a_server_that_it_is_not_of(tmp_path: Path) -> None:
    category = {"description": "A clock.", "server": "time"}
    content = {"mcpServers": {"time": TIME, "notes": REMOTE}, "categories": {"notes": category}}
    assert refused(tmp_path, content)[0] == "categories.notes"


# -- secrets --------------------------------------------------------------------------------------------

SECRET = "s3cr3t-Value-0123456789"


@pytest.mark.parametrize(
    "content",
    [
        with_server(headers={"Authorization": f"Bearer {SECRET}"}),
        with_server(headers={"X-Api-Key": SECRET}),
        with_server(headers={"x-goog-api-key": SECRET}),
        with_server(headers={"X-Session": f"ghp_{'a' * 36}"}),
        with_server(headers={"Cookie": f"id={SECRET}"}),
        with_server(url=f"https://uma:{SECRET}@notes.example.com/mcp"),
        with_server(url=f"https://notes.example.com/mcp?apiKey={SECRET}"),
        with_server(url=f"https://notes.example.com/sk-{'a' * 24}/mcp"),
        with_child(env={"GITHUB_PERSONAL_ACCESS_TOKEN": SECRET}),
        with_child(env={"OPENAI_API_KEY": SECRET}),
        with_child(env={"PGPASSWORD": SECRET}),
        with_child(env={"apiToken": SECRET}),
        with_child(env={"THING": "sk-proj-abcdefghijklmnop0123"}),
        with_child(env={"DB_PASSWORD": "${DB_PASSWORD}"}),
        with_child(args=["--api-key", SECRET]),
        with_child(args=[f"--token={SECRET}"]),
        with_child(args=["--header", f"Authorization: Bearer {SECRET}"]),
        with_child(args=["-e", f"API_TOKEN={SECRET}"]),
    ],
)
def test_a_secret_that_is_written_down_is_refused_and_not_repeated(tmp_path: Path, content: Any) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InvalidConfiguration) as raised:
        load(path)
    said = json.dumps(raised.value.as_dict()) + str(raised.value)
    assert "looks like a secret" in said
    assert "ssm:/path" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "content",
    [
        with_server(headers={"Authorization": "grant:notes", "Accept-Language": "ja"}),
        with_child(
            env={"API_TOKEN": "ssm:/one/token", "TOKEN_FILE": "/opt/config/t", "USE_TOKEN": "true", "PATH": "/x"}
        ),
        with_child(env={"AWS_KEY_ID": "x", "KEYBOARD": "us", "MONKEY": "see", "AUTHOR": "uma"}),
        with_child(args=["--local-timezone=Asia/Tokyo", "--token-file", "/x", "--key-id=3", "--project", "/srv/key"]),
    ],
)
def test_what_only_sounds_like_a_secret_is_taken(tmp_path: Path, content: Any) -> None:
    assert load(written(tmp_path, content)).servers


@pytest.mark.parametrize("value", ["ssm:", "ssm:notes", "ssm:/notes//key", "ssm:/no tes", "grant:", "grant:Notes/x"])
def test_a_reference_must_lead_somewhere(tmp_path: Path, value: str) -> None:
    assert "is no reference" in refused(tmp_path, with_server(headers={"Authorization": value}))[1]


def test_a_child_that_serves_all_takes_nobodys_account(tmp_path: Path) -> None:
    field, problem = refused(tmp_path, with_child(env={"NOTES_TOKEN": "grant:notes"}))
    assert field == "mcpServers.one.env"
    assert "serves all callers" in problem


def test_secrets_go_over_https_or_stay_on_this_machine(tmp_path: Path) -> None:
    headers = {"Authorization": "grant:notes"}
    assert "https only" in refused(tmp_path, with_server(url="http://notes.example.com/mcp", headers=headers))[1]
    assert load(written(tmp_path, with_server(url="http://127.0.0.1:8080/mcp", headers=headers)))
    assert load(written(tmp_path, with_server(url="http://notes.example.com/mcp")))


# -- this process's -------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that the settings name; it is not there yet."""
    path = tmp_path / "upstreams.json"
    monkeypatch.setenv("UPSTREAMS", str(path))
    for kept in (settings.settings, configuration):
        kept.cache_clear()
    yield path
    for kept in (settings.settings, configuration):
        kept.cache_clear()


def test_the_settings_name_the_file(file: Path) -> None:
    file.write_text(json.dumps({"mcpServers": {"time": TIME}}))
    assert list(configuration().servers) == ["time"]


def test_no_file_and_an_empty_one_are_no_servers(file: Path) -> None:
    assert not configuration().all_categories
    configuration.cache_clear()
    file.touch()
    assert not configuration().all_categories


def test_a_broken_file_fails_at_the_start(file: Path) -> None:
    file.write_text("{")
    with pytest.raises(InvalidConfiguration, match=str(file)):
        configuration()


# -- what stands in the repository ----------------------------------------------------------------------


def test_the_published_schema_is_what_the_code_says() -> None:
    assert UPSTREAMS_SCHEMA.read_text("utf-8") == upstreams_schema(), "run `make docs`"


def test_the_layers_file_has_no_servers_yet_and_names_its_schema() -> None:
    file = ROOT / "layers/config/upstreams.json"
    found = load(file)
    assert not found.all_categories
    assert (file.parent / found.schema_address).is_file()


def test_the_published_schema_knows_what_the_code_refuses() -> None:
    validator = Draft202012Validator(json.loads(UPSTREAMS_SCHEMA.read_text("utf-8")))
    assert validator.is_valid(with_category(server="time", tools={"includeNames": ["now"]}))
    assert validator.is_valid(with_server())
    for broken in ({"servers": {}}, with_child(command=1), {"mcpServers": {"one": {"description": "x"}}}):
        assert not validator.is_valid(broken)
    assert not validator.is_valid({"mcpServers": {"one": {"description": "x", "type": "http", "command": "x"}}})
    assert not validator.is_valid(with_category(server="time", tools={"includeNames": ["now", "now"]}))
