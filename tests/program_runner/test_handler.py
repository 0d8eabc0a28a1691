"""The handler: typed answers to every message, and what it does to its own process."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from program_runner.confinement import kernel
from program_runner.handler import answer as answer_here
from program_runner.handler import handler

CONTEXT: Any = SimpleNamespace(aws_request_id="r1", function_name="f", memory_limit_in_mb=1, invoked_function_arn="a")
RUN = {"operation": "run", "organization": "acme", "correlation": "c1"}


def answer(**event: Any) -> dict[str, Any]:
    return answer_here({**RUN, **event}, "r1")


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"operation": "exec"}, "message"),
        ({"program": "../x"}, "program"),
        ({"program": "a", "environment": {"AWS_PROFILE": "canary"}}, "environment"),
        ({"program": "a", "arguments": ["canary\0"]}, "arguments.0"),
        ({"program": "a", "limits": {"seconds": 1000}}, "limits.seconds"),
        ({"correlation": 1}, "correlation"),
    ],
)
def test_a_malformed_message_is_a_typed_error_that_names_the_field(event: dict[str, Any], field: str) -> None:
    error = answer(**event)["error"]
    assert error["type"] == "InvalidRequest"
    assert error["details"]["field"].startswith(field)
    assert "canary" not in json.dumps(error)


def test_what_is_no_message_at_all_is_answered() -> None:
    event: Any = ["run"]
    assert handler(event, CONTEXT)["error"]["type"] == "InvalidRequest"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this protection")
def test_the_functions_process_can_be_inspected_by_nobody() -> None:
    script = "import program_runner.handler, ctypes; print(ctypes.CDLL(None).prctl(3))"
    paths = [Path(__file__).parents[2] / path for path in ("functions", "layers/core", "layers/services")]
    environment = {"PYTHONPATH": ":".join(map(str, paths)), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
    assert ctypes.CDLL(None).prctl(3) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this protection")
@pytest.mark.parametrize(("call", "is_read"), [("None", True), ("forbid_inspection()", False)])
def test_a_process_that_forbids_its_inspection_is_read_by_no_other_of_its_user(call: str, is_read: bool) -> None:
    """Without capabilities, which would make a difference between two processes of root."""
    functions = Path(__file__).parents[2] / "functions"
    imports = "from program_runner.confinement.kernel import forbid_inspection"
    ours = f"import sys; sys.path.insert(0, {str(functions)!r}); {imports}"
    waiting = [sys.executable, "-I", "-c", f"{ours}; {call}; print('ready', flush=True); sys.stdin.read()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        waiting,
        stdin=pipe,
        stdout=pipe,
        env={"A": "canary"},
        preexec_fn=without_rights,  # noqa: PLW1509 - what it calls takes no lock
    ) as target:
        assert target.stdin is not None
        assert target.stdout is not None
        assert target.stdout.readline() == b"ready\n"
        read = ["/bin/cat", f"/proc/{target.pid}/environ"]
        found = subprocess.run(read, capture_output=True, preexec_fn=without_rights, check=False)
        target.stdin.close()
    assert (b"canary" in found.stdout) is is_read
    assert (found.returncode == 0) is is_read


def without_rights() -> None:
    if os.geteuid() == 0:
        kernel.drop_capabilities()


def make(folder: Path, name: str, content: bytes, mode: int = 0o755) -> str:
    path = folder / name
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


OTHER_MACHINE = b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little") + (183).to_bytes(2, "little") + bytes(44)


@pytest.mark.parametrize(
    ("content", "mode", "problem"),
    [
        (b"#!/bin/sh\n", 0o644, "not executable"),
        (OTHER_MACHINE, 0o755, "another machine"),
        (b"no program at all", 0o755, "another machine, or is no program"),
        (b"#!/no/such/interpreter\n", 0o755, "interpreter"),
    ],
)
def test_a_program_that_cannot_run_says_why(
    content: bytes, mode: int, problem: str, allow: Callable[..., None], tmp_path: Path
) -> None:
    program = make(tmp_path, "tool", content, mode)
    allow(program)
    error = answer(program=program)["error"]
    assert error["type"] == "ProgramUnavailable"
    assert problem in error["details"]["problem"]


def test_programs_are_those_of_the_package_and_of_the_allow_list(
    allow: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    make(package, "tool", b"#!/bin/sh\necho hi\n")
    outside = make(tmp_path, "outside", b"#!/bin/sh\n")
    (package / "link").symlink_to(outside)
    monkeypatch.setenv("PROGRAMS", str(package))
    allow()
    assert answer(program="tool")["result"]["exit_code"] == 0
    for program, problem in {"none": "missing", "link": "leads out", outside: "allow-list"}.items():
        assert problem in answer(program=program)["error"]["details"]["problem"]


def test_two_inputs_at_one_place_are_refused(allow: Callable[..., None]) -> None:
    allow("/bin/sh")
    for names in (["a", "a"], ["a", "a/b"]):
        digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        inputs = [{"name": name, "sha256": digest, "size_bytes": 0, "content": ""} for name in names]
        assert answer(program="/bin/sh", inputs=inputs)["error"]["type"] == "InvalidRequest"


def test_inputs_lie_in_the_folder_and_one_is_the_standard_input(allow: Callable[..., None]) -> None:
    allow("/bin/sh")
    digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    file = {"name": "in/a.txt", "sha256": digest, "size_bytes": 5, "content": "aGVsbG8="}
    asked = {"program": "/bin/sh", "arguments": ["-c", "cat; cat in/a.txt"], "inputs": [file]}
    result = answer(**asked, stdin_file="in/a.txt", outputs=[{"glob": "**/*.txt", "content_type": "text/plain"}])
    assert result["result"]["stdout"] == "aGVsbG9oZWxsbw=="
    assert result["result"]["outputs"] == [], "an input is no output"
    wrong = answer(**{**asked, "inputs": [{**file, "sha256": "0" * 64}]})
    assert wrong["error"]["type"] == "IntegrityError"


def test_an_output_that_must_be_there_is_missed_by_its_glob(allow: Callable[..., None]) -> None:
    allow("/bin/sh")
    rule = {"glob": "out/*.md", "content_type": "text/markdown", "required": True}
    error = answer(program="/bin/sh", arguments=["-c", "exit 0"], outputs=[rule])["error"]
    assert error["type"] == "OutputRefused"
    assert "out/*.md" in error["details"]["problem"]


def test_too_many_outputs_and_too_large_ones_are_refused(allow: Callable[..., None]) -> None:
    allow("/bin/sh")
    rule = {"glob": "*", "content_type": "text/plain"}
    many = answer(program="/bin/sh", arguments=["-c", "for i in $(seq 101); do echo > $i; done"], outputs=[rule])
    assert "101 files" in many["error"]["details"]["problem"]


def test_a_program_that_reads_none_of_its_input_ends_well(allow: Callable[..., None]) -> None:
    allow("/bin/sh")
    result = answer(program="/bin/sh", arguments=["-c", "echo done"], stdin="eHh4" * 500_000)["result"]
    assert (result["exit_code"], result["stdout"]) == (0, "ZG9uZQo=")
