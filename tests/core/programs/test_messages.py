"""What a message to the program runner may say."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from mcpist.programs.messages import MESSAGE_ADAPTER, InputFile, Limits, OutputRule, ProgramRequest, ServerRequest

RUN: dict[str, Any] = {"operation": "run", "organization": "acme", "program": "bin/tool"}
STRANGE_NAMES = ("../x", "a/../../x", "/etc/passwd", "a\nb", "a\0b", "", ".", "a//b", "a\\b", "x" * 256, "\u202ea")


def test_a_run_survives_its_way_as_json_with_its_bytes() -> None:
    content = bytes(range(256))
    asked = ProgramRequest(
        organization="acme",
        program="bin/tool",
        arguments=("--flag", "ü"),
        stdin=content,
        environment={"LOCALE": "de"},
        inputs=(InputFile(name="in/a.bin", sha256="0" * 64, size_bytes=256, content=content),),
        outputs=(OutputRule(glob="**/*.md", content_type="text/markdown"),),
        limits=Limits(seconds=3),
    )
    assert MESSAGE_ADAPTER.validate_python(json.loads(asked.model_dump_json())) == asked


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_names_that_lead_out_of_the_folder_or_hide_something_are_refused(name: str) -> None:
    for model, fields in (
        (InputFile, {"name": name, "sha256": "0" * 64, "size_bytes": 0}),
        (OutputRule, {"glob": name, "content_type": "text/plain"}),
        (ProgramRequest, {**RUN, "stdin_file": name}),
    ):
        with pytest.raises(ValidationError):
            model.model_validate(fields)


@pytest.mark.parametrize("program", ["../bin/tool", "", "a\nb", "/a\nb", "bin/../../tool"])
def test_programs_that_lead_out_of_their_package_are_refused(program: str) -> None:
    with pytest.raises(ValidationError):
        ProgramRequest.model_validate({**RUN, "program": program})


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "LAMBDA_TASK_ROOT", "_HANDLER", "LD_PRELOAD", "PATH", "A=B", ""])
def test_a_run_sets_no_variable_of_the_runtime_or_the_loader(name: str) -> None:
    with pytest.raises(ValidationError):
        ProgramRequest.model_validate({**RUN, "environment": {name: "1"}})


def test_an_unknown_operation_and_a_nul_are_refused_without_their_values() -> None:
    for event in ({**RUN, "operation": "exec"}, {**RUN, "arguments": ["a\0canary"]}):
        with pytest.raises(ValidationError) as refused:
            MESSAGE_ADAPTER.validate_python(event)
        assert "canary" not in str(refused.value)


def test_secrets_of_a_server_are_in_no_representation() -> None:
    server = {"name": "s", "command": "c", "environment": {"KEY": "canary"}, "timeout_seconds": 1}
    asked = ServerRequest.model_validate(
        {"organization": "", "server": {**server, "result_bytes": 1, "concurrency": 1}, "method": "list", "seconds": 1}
    )
    assert "canary" not in repr(asked)
    assert "canary" in asked.model_dump_json()
