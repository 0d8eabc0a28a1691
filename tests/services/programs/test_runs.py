"""Runs: from arguments to a StandardResponse with files, through the gate."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcpist.audit import search as audit_search
from mcpist.errors import (
    FileNotFound,
    InvalidArguments,
    InvalidRequest,
    McpistError,
    OutputRefused,
    ProgramFailed,
    ProgramKilled,
    Timeout,
)
from mcpist.files import access
from mcpist.files.reference import StandardResponse, check
from mcpist.memory import forget_all
from mcpist.programs.messages import ProgramResult
from mcpist.running.options import RunOptions
from mcpist.running.run import ToolResult, run_tool
from mcpist_services.programs.module import EXAMPLE_FILE, module
from mcpist_services.programs.runs import executable
from tests.core.files.callers import BOB, UMA
from tests.services.programs.declarations import FILE, PRINT_ARGUMENTS, TEXT, LocalPrograms, declaration, tool

pytestmark = pytest.mark.usefixtures("aws")

FILES = {"type": "array", "items": FILE}
COPY = "import pathlib, sys; [print(pathlib.Path(one).read_text(), end='') for one in sys.argv[1:]]"


def use(script: str, arguments: Mapping[str, Any], declared: Mapping[str, Any], **how: Any) -> ToolResult:
    """Run the one tool of a module whose program `run` is this script, as a door does."""
    made = module(declaration(declared), how.pop("programs", LocalPrograms(run=script)))
    caller = how.pop("caller", UMA)
    return run_tool(caller, made, made.tools["run"], arguments, request="r1", **how)


def refused[Refusal: McpistError](
    kind: type[Refusal], script: str, declared: Mapping[str, Any], **given: Any
) -> Refusal:
    with pytest.raises(kind) as caught:
        use(script, given, declared)
    return caught.value


def put(text: str | bytes, content_type: str = "text/plain") -> dict[str, Any]:
    """The reference of a file of uma."""
    content = text if isinstance(text, bytes) else text.encode()
    return access.put(UMA, content, content_type).reference.model_dump()


def text_of(reference: Any) -> str:
    return access.load_text(UMA, reference)[1]


def test_the_answer_is_a_standard_response_with_json_as_metadata() -> None:
    answer = use("print('{\"words\": 3}')", {}, tool(["run"])).json
    assert check(StandardResponse, answer, "answer").command == "sample.run"
    assert (answer["success"], answer["outputs"], answer["metadata"]) == (True, [], {"words": 3})


@pytest.mark.parametrize(
    ("printed", "metadata"),
    [
        ("[1, 2]", {"result": [1, 2]}),
        ('{"a": 1}\n{"a": 2}\n', {"result": [{"a": 1}, {"a": 2}]}),
        ('{"title": "\\ud83d"}', {"title": "?"}),
        ("", {}),
        (" \n", {}),
    ],
)
def test_json_lists_lines_and_half_characters_are_metadata(printed: str, metadata: Any) -> None:
    assert use(f"print({printed!r}, end='')", {}, tool(["run"])).json["metadata"] == metadata


def test_any_json_is_metadata_where_the_declaration_says_json() -> None:
    answer = use("print(5)", {}, tool(["run"], stdout={"to": "metadata"})).json
    assert (answer["metadata"], answer["outputs"]) == ({"result": 5}, [])
    error = refused(OutputRefused, "print('five')", tool(["run"], stdout={"to": "metadata"}))
    assert "not JSON" in error.details["problem"]


def test_a_text_becomes_a_file_with_a_preview() -> None:
    answer = use("print('word ' * 900)", {}, tool(["run"], stdout={"content_type": "text/markdown"})).json
    (output,) = answer["outputs"]
    assert (output["content_type"], text_of(output)) == ("text/markdown", "word " * 900 + "\n")
    assert answer["metadata"]["preview"].startswith("text: 1 lines, 4,501 characters")
    assert len(answer["metadata"]["preview"]) < 1_100


def test_the_answer_of_a_short_text_is_about_as_long_as_the_text() -> None:
    answer = use("print('word ' * 20)", {}, tool(["run"])).json
    assert (answer["outputs"], answer["metadata"]) == ([], {"preview": "word " * 20 + "\n"})
    assert len(use("print('word ' * 20)", {}, tool(["run"], stdout={"to": "file"})).json["outputs"]) == 1
    binary = use("import sys; sys.stdout.buffer.write(b'\\xff\\x00')", {}, tool(["run"])).json
    assert "attachments" in binary["metadata"]


def test_json_is_a_file_where_the_declaration_says_file() -> None:
    rule = {"to": "file", "content_type": "application/json"}
    answer = use("print('[{\"a\": 1}]')", {}, tool(["run"], stdout=rule)).json
    assert [text_of(one) for one in answer["outputs"]] == ['[{"a": 1}]\n']
    assert "rows: 1" in answer["metadata"]["preview"]
    assert use("print(1)", {}, tool(["run"], stdout={"to": "nothing"})).json["metadata"] == {}


def test_bytes_that_are_no_text_are_an_attachment() -> None:
    script = "import sys; sys.stdout.buffer.write(b'\\xff\\xfe')"
    answer = use(script, {}, tool(["run"], stdout={"to": "file"})).json
    assert answer["outputs"] == []
    (attachment,) = answer["metadata"]["attachments"]
    assert attachment["content_type"] == "application/octet-stream"
    assert access.load(UMA, attachment["path"])[1] == b"\xff\xfe"


def test_outputs_by_globs_are_the_callers_files() -> None:
    script = "import pathlib as p; [p.Path(one).write_text(one) for one in ('b.md', 'a.md', 'x.png')]"
    outputs = [{"glob": "b*.md", "content_type": "text/markdown"}, {"glob": "*.png", "content_type": "image/png"}]
    outputs += [{"glob": "a*.md", "content_type": "text/markdown"}]
    answer = use(script, {}, tool(["run"], outputs=outputs)).json
    assert [text_of(one) for one in answer["outputs"]] == ["b.md", "a.md"]
    assert answer["metadata"]["names"] == ["b.md", "a.md"]
    (attachment,) = answer["metadata"]["attachments"]
    assert (attachment["name"], attachment["content_type"]) == ("x.png", "image/png")
    with pytest.raises(FileNotFound):
        access.load(BOB, answer["outputs"][0])


def test_a_missing_output_is_an_error_unless_it_is_optional() -> None:
    rule = {"glob": "*.md", "content_type": "text/markdown"}
    assert "*.md" in refused(OutputRefused, "", tool(["run"], outputs=[rule])).details["problem"]
    assert use("", {}, tool(["run"], outputs=[{**rule, "required": False}])).json["outputs"] == []


def test_files_are_staged_under_the_names_of_their_inputs_and_types() -> None:
    declared = tool(
        ["run", {"input": "one"}, {"input": "many"}], {"one": FILE, "many": FILES}, stdout={"to": "metadata"}
    )
    image = access.put(UMA, b"PNG", "image/png")
    given = {
        "one": put("{}", "application/json"),
        "many": [put("# A", "text/markdown"), put("a: 1", "text/yaml")["path"], image.sha256],
    }
    answer = use(PRINT_ARGUMENTS, given, declared).json
    assert answer["metadata"]["result"] == ["one.json", "many-1.md", "many-2.yaml", "many-3.png"]


def test_a_program_reads_its_files_in_their_order() -> None:
    declared = tool(["run", {"input": "many"}], {"many": FILES}, stdout={"to": "file"})
    answer = use(COPY, {"many": [put("A"), put("B")]}, declared).json
    assert text_of(answer["outputs"][0]) == "AB"


@pytest.mark.parametrize(
    ("spec", "value", "read"),
    [(TEXT, "日本", "日本"), ({}, {"a": [1, "é"]}, '{"a": [1, "é"]}'), ({}, 5, "5"), (TEXT, None, "")],
)
def test_stdin_is_a_text_as_it_is_and_any_other_value_as_json(spec: Any, value: Any, read: str) -> None:
    declared = tool(["run"], {"it": spec}, stdin="it", stdout={"to": "file"})
    script = "import sys; print('>' + sys.stdin.buffer.read().decode())"
    answer = use(
        f"import sys; sys.stdout.reconfigure(encoding='utf-8'); {script}",
        {} if value is None else {"it": value},
        declared,
    )
    assert text_of(answer.json["outputs"][0]) == f">{read}\n"


def test_stdin_takes_a_file_and_a_text_takes_a_reference() -> None:
    script = "import sys; print(sys.stdin.read())"
    by_file = tool(["run"], {"it": FILE}, stdin="it", stdout={"to": "file"})
    by_text = tool(["run"], {"it": TEXT}, stdin="it", stdout={"to": "file"})
    for declared in (by_file, by_text):
        answer = use(script, {"it": put("from a file")}, declared).json
        assert text_of(answer["outputs"][0]) == "from a file\n"


def test_defaults_of_the_schema_are_arguments() -> None:
    declared = tool(["run", {"input": "n"}], {"n": {"type": "integer", "default": 7}}, stdout={"to": "metadata"})
    assert use(PRINT_ARGUMENTS, {}, declared).json["metadata"] == {"result": ["7"]}


def test_an_exit_code_that_the_declaration_does_not_allow_is_an_error_with_the_end_of_stderr() -> None:
    script = "import sys; print('no such column', file=sys.stderr); sys.exit(2)"
    error = refused(ProgramFailed, script, tool(["run"], successCodes=[0, 1]))
    assert (error.code, error.details["exit_code"], error.details["problem"]) == (
        "TOOL_EXECUTION_ERROR",
        2,
        "no such column",
    )
    assert use("import sys; sys.exit(1)", {}, tool(["run"], successCodes=[0, 1])).json["success"] is True


def test_a_signal_is_an_error() -> None:
    error = refused(ProgramKilled, "import os; os.kill(os.getpid(), 11)", tool(["run"]))
    assert error.details["signal"] == "SIGSEGV"


def test_wrong_arguments_and_files_of_others_run_nothing() -> None:
    declared = tool(["run", {"input": "file"}, {"input": "n"}], {"file": FILE, "n": {"type": "integer", "minimum": 1}})
    programs = LocalPrograms(run="")
    foreign = access.put(BOB, b"secret", "text/plain").reference.model_dump()
    for wrong, kind in [
        ({"n": 0}, InvalidArguments),
        ({"n": "1"}, InvalidArguments),
        ({"colour": "red"}, InvalidArguments),
        ({"file": foreign}, FileNotFound),
        ({"file": "../x"}, InvalidRequest),
        ({"file": {**put("x"), "sha256": "0" * 64}}, InvalidRequest),
    ]:
        with pytest.raises(kind):
            use("", wrong, declared, programs=programs)
    assert programs.requests == []


def test_a_run_ends_before_the_caller_does() -> None:
    deadlines: list[float] = []

    def late(*_: Any, deadline: float, **__: Any) -> ProgramResult:
        deadlines.append(deadline)
        raise Timeout(service="sample", seconds=3)

    with pytest.raises(Timeout):
        use("", {}, tool(["run"]), programs=late, seconds=20, options=RunOptions(timeout=3))
    with pytest.raises(Timeout):
        use("", {}, tool(["run"]), programs=late, seconds=2)
    assert deadlines[0] - deadlines[1] == pytest.approx(1, abs=0.5)


def test_a_program_is_the_packages_own_or_one_that_this_machine_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROGRAMS", str(tmp_path))
    monkeypatch.setenv("ALLOWED_PROGRAMS", "/usr/bin/rg,/usr/bin/jq")
    forget_all()
    (tmp_path / "text").mkdir()
    (tmp_path / "text/jq").write_text("")
    assert executable("text", "jq") == "text/jq"
    assert executable("text", "rg") == "/usr/bin/rg"
    assert executable("text", "bin/rg") == "text/bin/rg"
    assert executable("text", "missing") == "text/missing"


def test_a_conversion_is_measured_in_the_log_the_audit_and_not_by_its_content(caplog: pytest.LogCaptureFixture) -> None:
    declared = tool(
        ["run", {"input": "files"}, "--", {"input": "word"}], {"files": FILES, "word": TEXT}, stdout={"to": "file"}
    )
    script = "print('confidential ' * 400)"
    with caplog.at_level(logging.INFO):
        use(script, {"files": [put("x" * 50)], "word": "s3cret"}, declared)
    (record,) = [record for record in caplog.records if record.message == "program"]
    fields = {name: record.__dict__[name] for name in ("command", "input_size_bytes", "output_file_count")}
    assert fields == {"command": "sample.run", "input_size_bytes": 50, "output_file_count": 1}
    assert 0 <= record.__dict__["execution_time_ms"] < 60_000
    assert 0.4 < record.__dict__["token_efficiency"] < 1
    now = datetime.now(UTC)
    (row,) = audit_search.find(UMA.organization, since=now - timedelta(hours=1), until=now + timedelta(hours=1)).rows
    assert row["measures"]["input_size_bytes"] == 50
    assert row["measures"]["tokens_before"] == 1_301 > row["measures"]["tokens_after"] > 0
    written = json.dumps([row, [one.__dict__ for one in caplog.records]], default=str)
    assert "s3cret" not in written
    assert "confidential" not in written


def test_a_failure_is_logged_by_its_kind(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        refused(ProgramFailed, "import sys; sys.exit('s3cret')", tool(["run"]))
    (record,) = [record for record in caplog.records if record.message == "program failed"]
    assert (record.__dict__["command"], record.__dict__["code"]) == ("sample.run", "TOOL_EXECUTION_ERROR")
    assert "s3cret" not in str(record.__dict__)


@pytest.mark.parametrize("files", [101, 1])
def test_more_than_a_run_can_take_is_refused_before_it(files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpist_services.programs.runs.MAX_FILE_BYTES", 10)
    declared = tool(["run", {"input": "files"}], {"files": FILES})
    one = put("x" * (1 if files > 1 else 11))
    with pytest.raises(InvalidRequest, match="takes at most"):
        use("", {"files": [one] * files}, declared)


def test_a_standard_input_that_fits_no_message_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="bytes"):
        use("", {"it": "x" * 3_000_001}, tool(["run"], {"it": TEXT}, stdin="it"))


def test_the_module_is_listed_with_signatures_and_examples() -> None:
    declared = tool(
        ["run", {"input": "one"}, {"input": "many"}, {"input": "n"}],
        {"one": FILE, "many": FILES, "n": {"type": "integer", "minimum": 3}},
    )
    declared["inputSchema"]["required"] = ["one", "many", "n"]
    made = module(declaration(declared))
    assert made.tools["run"].signature == "run(one: file, many: [file], n: integer) -> outputs, metadata"
    (example,) = made.tools["run"].examples
    assert example["parameters"] == {"one": EXAMPLE_FILE, "many": [EXAMPLE_FILE], "n": 3}
    declared["inputSchema"]["examples"] = [{"n": 5}]
    assert module(declaration(declared)).tools["run"].examples[0]["parameters"] == {"n": 5}
    assert (made.kind, made.tools["run"].idempotent, made.tools["run"].about["category"]) == (
        "program",
        True,
        "programs",
    )
