"""What a terminal shows of each command instead of the JSON document, and the exit codes."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from infra.cli import document
from infra.cli.document import EXIT_CODES, draw_error, resembling
from infra.cli.main import run
from infra.cli.rest_commands import to_preview, to_result
from infra.source import ROOT
from mcpist.errors import McpistError, concrete_errors
from tests.core.loopback import Service, json_response, serving

type Json = dict[str, Any]

PLAIN = re.compile(r"\x1b\[[0-9;]*m")
PLAN = """\
{"id":"find","module":"rag","tool":"search_docs","params":{"query":"batch"}}
{"id":"read","module":"rag","tool":"get_doc","each":"${find.items}","params":{"path":"${each.path}"}}
{"id":"tags","module":"rag","tool":"list_tags"}
{"id":"again","module":"rag","tool":"list_docs","when":"${tags.items}","params":{"title":"${read.items[0].title}"}}
"""
RAG = {"module": "rag", "description": "Documents.", "tools": ["get_doc(path) -> content: Read one document."]}


@pytest.fixture
def endpoint() -> Iterator[Service]:
    with serving() as service:
        yield service


FILES = {
    "batch.jsonl": '{"id": "a b", "module": "rag", "tool": "search_docs", "timout": 1}\n{"id": 1 2}',
    "organization.yaml": "name: acme\nroles: 3\n",
    "program.json": '{"nme": 1}',
    "broken/program.json": "{",
    "upstreams.json": '{"categories": {"x": {"server": "a", "enabled": "yes"}}}',
}
LOCAL_ERRORS = (
    "plan batch.jsonl",
    "plan none.jsonl",
    "org import organization.yaml",
    "program check program.json",
    "program check broken",
    "upstream check upstreams.json",
    "timeline",
    "call",
    "modules --nothing",
    "nothing",
    "--url http://127.0.0.1:1/mcp modules",
    "--url nowhere modules",
)


class Terminal(StringIO):
    """A terminal's text."""

    def isatty(self) -> bool:
        return True


def shown(*words: str) -> tuple[int, str]:
    """Return a command's exit code, and what it shows on a terminal."""
    with redirect_stdout(Terminal()) as terminal:
        code = run([*words])
    return code, PLAIN.sub("", terminal.getvalue())


def test_errors_of_local_files_and_lines_are_japanese_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    english = re.compile(r"(?<![\w\[/{.-])[a-z]{2,} [a-z]{2,}(?![\w-])")
    told = {line: shown("--locale", "ja", *line.split())[1] for line in LOCAL_ERRORS}
    # A usage and the text of an operating system are as they are.
    kept = re.compile(r"使い方:.*|\[Errno \d+\] [A-Z][a-z ]+|`[^`]*`|\(使える項目:.*?\)")
    left = {line: found for line, text in told.items() if (found := english.findall(kept.sub("", text)))}
    assert not left, {line: told[line] for line in left}
    assert "ほかに a.json" not in told["program check program.json"], "the first problem is told once"


def answer(*texts: str, error: bool = False) -> Any:
    content = [{"type": "text", "text": text} for text in texts]
    return json_response({"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": error}})


def at(endpoint: Service) -> list[str]:
    return ["--url", f"{endpoint.url}/mcp", "--token", "t"]


def sent(endpoint: Service) -> list[Json]:
    return [json.loads(request.body)["params"]["arguments"] for request in endpoint.received]


def test_a_call_shows_the_compact_answer_as_it_is(endpoint: Service) -> None:
    endpoint.reply_with(answer("[1]{path}:\n  a.md\x1b[2J", "Cut after 1 item."))
    assert shown("call", "rag", "list_docs", *at(endpoint)) == (
        0,
        "[1]{path}:\n  a.md\\u{1B}[2J\n\nCut after 1 item.\n",
    )


@pytest.mark.parametrize("line", ["--json call rag list_docs", "call rag list_docs --json"])
def test_json_is_shown_on_a_terminal_too_where_it_is_asked_for(endpoint: Service, line: str) -> None:
    endpoint.reply_with(answer("one"))
    _, text = shown(*line.split(), *at(endpoint))
    assert json.loads(text)["metadata"]["texts"] == ["one"]


@pytest.mark.parametrize("line", ["modules", "schema"])
def test_modules_are_listed_in_a_table(endpoint: Service, line: str) -> None:
    listed = [{"module": "rag", "description": "Documents.", "tools": 7}, {"module": "clock", "description": "Time."}]
    endpoint.reply_with(answer(json.dumps({"modules": listed})))
    assert shown(line, *at(endpoint))[1].splitlines() == [
        "module  tools  what it has",
        "rag     7      Documents.",
        "clock          Time.",
    ]


def test_a_schema_is_shown_as_signatures_beside_what_is_missing(endpoint: Service) -> None:
    error = {"code": "MODULE_NOT_FOUND", "message": "There is no module.", "hint": "Modules: rag."}
    rag = {**RAG, "resources": ["rag://docs/{+path}: A document."], "formats": {"day": "2026-01-31"}}
    endpoint.reply_with(answer(json.dumps({"modules": [rag, {"module": "nope", "error": error}]})))
    assert shown("schema", "rag", "nope", *at(endpoint))[1].splitlines() == [
        "rag: Documents.",
        "  get_doc(path) -> content: Read one document.",
        "",
        "resources:",
        "  rag://docs/{+path}: A document.",
        "",
        "formats:",
        "  day: 2026-01-31",
        "",
        "nope: MODULE_NOT_FOUND There is no module. Modules: rag.",
    ]


def test_a_plan_is_a_picture_of_what_waits_for_what(nowhere: Path) -> None:
    (nowhere / "batch.jsonl").write_text(PLAN)
    *tree, summary = shown("plan", "batch.jsonl")[1].splitlines()
    assert tree == [
        "find      rag.search_docs",
        "└─ read   rag.get_doc, for each of ${find.items}",
        "tags      rag.list_tags",
        "└─ again  rag.list_docs, if its condition holds, also after read",
    ]
    assert summary.startswith("4 steps, at most 3 one after the other; ")


def test_an_error_is_two_or_three_lines(endpoint: Service) -> None:
    details = {"line": 2, "field": "limit"}
    wrong = {"code": "VALIDATION_ERROR", "message": "limit: too many", "hint": "Write less.", "details": details}
    endpoint.reply_with(answer(json.dumps(wrong), error=True))
    code, text = shown("call", "rag", "list_docs", *at(endpoint))
    assert code == document.CALLER
    assert text.splitlines() == [
        "VALIDATION_ERROR limit: too many",
        "at line 2",
        "Write less.",
    ]


def test_an_error_steers_no_terminal() -> None:
    drawn = draw_error({"code": "X", "message": "a\x1b[2Jb\nc", "hint": "", "details": {"step": "\x1b[1m"}})
    assert PLAIN.sub("", drawn) == "X a\\u{1B}[2Jb\\u{0A}c\nat step \\u{1B}[1m"


@pytest.mark.parametrize(
    ("code", "known", "found"),
    [
        ("MODULE_NOT_FOUND", "rag, jira and 7 more", "Did you mean rag? Modules."),
        ("TOOL_NOT_FOUND", "list_docs, rag_doc", "Did you mean rag_doc? Modules."),
        ("MODULE_NOT_FOUND", "jira", "Modules."),
    ],
)
def test_a_name_that_resembles_a_known_one_is_answered_with_it(
    endpoint: Service, code: str, known: str, found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    details = {"module": "rga", "tool": "rag_dco", "known": known}
    error = {"code": code, "message": "There is none.", "hint": "Modules.", "details": details}
    endpoint.reply_with(answer(json.dumps(error), error=True))
    assert run(["call", "rga", "rag_dco", *at(endpoint)]) == document.CALLER
    assert json.loads(capsys.readouterr().out)["error"]["hint"] == found


def test_arguments_are_words_typed_by_the_tools_schema(endpoint: Service, capsys: pytest.CaptureFixture[str]) -> None:
    properties = {"query": {"type": "string"}, "limit": {"type": "integer"}}
    full = {"name": "search_docs", "inputSchema": {"type": "object", "properties": properties}}
    endpoint.replies = [answer(json.dumps({"modules": [{**RAG, "tools": [full, "get_doc"]}]})), answer("found")]
    words = ["query=3", "limit=3", "--params", '{"tags": ["a"]}']
    assert run(["call", "rag", "search_docs", *words, *at(endpoint)]) == 0
    assert sent(endpoint)[0] == {"modules": ["rag"], "tools": ["search_docs"]}
    assert sent(endpoint)[1]["params"] == {"tags": ["a"], "query": "3", "limit": 3}
    assert json.loads(capsys.readouterr().out)["metadata"]["texts"] == ["found"]


def test_an_error_has_all_problems_of_the_arguments() -> None:
    problems = [{"field": "qery", "problem": "there is no such field"}, {"message": "Line 3: limit: too large"}]
    verdicts = [{"id": "find", "line": 1, "policy": "permit: base"}, {"id": "open", "line": 2, "policy": "refuse: own"}]
    details = {"field": "query", "problems": problems, "verdicts": verdicts}
    drawn = draw_error({"code": "X", "message": "query: Field required", "hint": "Correct them.", "details": details})
    assert PLAIN.sub("", drawn).splitlines() == [
        "X query: Field required",
        "also qery: there is no such field",
        "also Line 3: limit: too large",
        "find: permit: base",
        "open: refuse: own",
        "Correct them.",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["batch", "/nowhere.jsonl"], "/nowhere.jsonl: No such file or directory"),
        (["--locale", "fr", "modules"], "Invalid value for '--locale': 'fr' is not one of 'en', 'ja'."),
    ],
)
def test_an_error_says_only_what_is_wrong(words: list[str], message: str) -> None:
    assert shown(*words)[1].splitlines()[0].partition(" ")[2] == message


def test_a_name_among_none_resembles_nothing() -> None:
    assert resembling({"code": "MODULE_NOT_FOUND", "details": {"module": "nope", "known": "none"}}) == ""


def test_a_long_effect_is_shown_by_its_modules() -> None:
    tools = [f"jira.get_{number}" for number in range(11)]
    facts = {"version": 2, "effects": [{"users": ["uma"], "appear": tools, "vanish": ["rag.put_doc"]}]}
    result = to_result(facts)
    assert result.metadata == facts
    assert "jira: 11 tools" in result.drawing
    assert "get_3" not in result.drawing
    assert "rag.put_doc" in result.drawing


def test_a_preview_is_a_table() -> None:
    module = {"module": "rag", "tools": 5, "of": 7, "names": {}}
    assert to_preview({"role": "members", "modules": [module]}).drawing == "module  tools\nrag     5 of 7"


def test_a_check_that_fails_still_shows_every_server(tmp_path: Path) -> None:
    dead = {"description": "Nothing.", "type": "http", "url": "http://127.0.0.1:9/mcp"}
    (tmp_path / "dead.json").write_text(json.dumps({"mcpServers": {"one": dead, "two": dead}}))
    code, text = shown("upstream", "check", str(tmp_path / "dead.json"))
    lines = text.splitlines()
    assert code == EXIT_CODES["UPSTREAM_UNAVAILABLE"]
    assert [line.partition("  ")[0] for line in lines[:4]] == ["one", "two", "one", "two"]
    assert lines[-2].startswith("UPSTREAM_UNAVAILABLE one does not answer")


def test_a_file_of_no_servers_is_said_to_have_none(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"mcpServers": {}}')
    assert shown("upstream", "check", str(tmp_path / "empty.json")) == (0, f"{tmp_path}/empty.json names no server\n")


@pytest.mark.parametrize(("first_no", "names"), [("mask", ["role", "mask"]), ("", ["role", "mask", "account"])])
def test_why_leaves_out_what_is_undecided_after_the_first_no(
    endpoint: Service, first_no: str, names: list[str]
) -> None:
    verdicts = {"role": "yes", "mask": "no" if first_no else "yes", "account": "open"}
    decisions = [
        {"name": name, "verdict": verdict, "message": "", "changedBy": "", "remedy": ""}
        for name, verdict in verdicts.items()
    ]
    roles = [{"role": "members", "rule": "deny", "mask": "rag.get_*"}]
    endpoint.reply_with(json_response({"decisions": decisions, "firstNo": first_no, "roles": roles}))
    heads, *rows = shown("why", "rag.get_doc", *at(endpoint))[1].partition("\n\n")[0].splitlines()
    assert "changed by" in heads
    assert [row.split()[:2] for row in rows] == [[name, verdicts[name]] for name in names]


@pytest.mark.parametrize(("given", "language"), [(["--locale", "ja"], "ja"), ([], None)])
@pytest.mark.parametrize("command", ["call rag list_docs", "why rag.list_docs"])
def test_the_language_reaches_the_server_only_if_it_is_named(
    endpoint: Service, given: list[str], language: str | None, command: str
) -> None:
    endpoint.reply_with(json_response({"code": "CONFLICT", "error": "x", "hint": ""}, 409))
    run([*given, *command.split(), *at(endpoint)])
    (request,) = endpoint.received
    assert request.headers.get("accept-language") == language


def test_every_error_has_the_exit_code_of_who_must_act() -> None:
    assert {kind.code for kind in concrete_errors(McpistError)} - set(EXIT_CODES) == {
        "INTEGRITY_ERROR",
        "INTERNAL_ERROR",
    }
    page = (ROOT / "docs/command-line.md").read_text("utf-8")
    documented = dict(re.findall(r"^\| `?(\d+)`? \| .*? \| (.*) \|$", page, re.MULTILINE))
    for code, number in EXIT_CODES.items():
        assert f"`{code}`" in documented[str(number)], code


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"complete_{shell}" in script
    assert "mcpist" in script


def test_bash_completes_commands_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "mcpist"
    program.write_text(f'#!/bin/sh\nexec env PYTHONPATH={ROOT} {sys.executable} -m infra.cli.main "$@"\n')
    program.chmod(0o755)
    script = """
    source <(mcpist completion bash)
    COMP_WORDS=(mcpist up); COMP_CWORD=1; _mcpist_completion mcpist; echo "${COMPREPLY[@]}"
    COMP_WORDS=(mcpist call ra); COMP_CWORD=2; _mcpist_completion mcpist; echo "${COMPREPLY[@]}"
    """
    command = ["bash", "-c", script]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines() == ["up upstream", ""]  # no endpoint knows a module here
    assert done.stderr == b""


def test_a_call_waits_for_no_import_that_it_does_not_need(endpoint: Service) -> None:
    endpoint.reply_with(answer("one"))
    line = ["call", "rag", "list_docs", "--url", f"{endpoint.url}/mcp", "--token", "t"]
    script = f"import sys; from infra.cli.main import run; run({line!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["metadata"]["texts"] == ["one"]
    assert not {"mcp", "mcp_types", "botocore", "jsonschema", "rich.live", "asyncio"} & set(done.stderr.split())


def test_a_tool_may_be_named_with_its_module_in_one_word(endpoint: Service) -> None:
    endpoint.reply_with(answer("[]"))
    assert shown("call", "rag.list_tags", *at(endpoint))[0] == 0
    (tags,) = sent(endpoint)
    endpoint.reply_with(answer(json.dumps({"modules": [RAG]})), answer("[]"))
    assert shown("call", "rag.get_doc", "path=a.md", *at(endpoint))[0] == 0
    schema, doc = sent(endpoint)[-2:]
    assert (tags["module"], tags["tool"], tags["options"]) == ("", "rag.list_tags", {"max_tokens": 25_000})
    assert schema == {"modules": [], "tools": ["rag.get_doc"]}
    assert (doc["module"], doc["tool"], doc["params"]) == ("", "rag.get_doc", {"path": "a.md"})
