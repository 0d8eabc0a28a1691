"""A definition is parsed once, and its executions share the program."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.stepfunctions.parser.asl.component import component
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser, ASLParserException
from moto.stepfunctions.parser.asl.utils import json_path

from infra.local.step_functions import MAX_PROGRAMS, install


def definition(*names: str) -> str:
    states = {name: {"Type": "Pass", "End": True} for name in names}
    return json.dumps({"StartAt": names[0], "States": states})


def program(name: str) -> Any:
    return AmazonStateLanguageParser.parse(definition(name))[0]


@pytest.fixture(autouse=True)
def kept() -> None:
    install()


def test_the_same_text_has_the_same_program() -> None:
    first, second, other = map(program, "AAB")
    assert first is second
    assert first.start_at.start_at_name == "A"
    assert other.start_at.start_at_name == "B"


def test_only_the_programs_used_last_are_kept() -> None:
    first, second = map(program, "AB")
    for number in range(MAX_PROGRAMS - 2):
        program(f"S{number}")
    assert program("A") is first
    program("C")
    assert program("A") is first
    assert program("B") is not second


def test_an_invalid_definition_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ASLParserException):
            AmazonStateLanguageParser.parse('{"StartAt": "A", "States": ')


def test_a_path_is_parsed_once_and_reads_any_state() -> None:
    parse: Any = vars(json_path)["parse"]
    assert parse("$.go.s1") is parse("$.go.s1")
    assert [json_path.extract_json("$.go.s1", {"go": {"s1": value}}) for value in (True, 2)] == [True, 2]


def test_an_execution_leaves_nothing_behind_in_the_program_that_the_next_one_shares() -> None:
    """What a component keeps of an execution would show as an attribute that its evaluation has set."""
    root = Path(component.__file__).parent
    found: set[tuple[str, str]] = set()
    for file in root.rglob("*.py"):
        for owner in (one for one in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(one, ast.ClassDef)):
            found |= {(owner.name, name) for name in attributes_set_later(owner)}
    workers = {"IterationWorker", "JobPool", "Counter", "MapRunRecord", "BranchWorker", "BranchWorkerPool"}
    # A key of the execution's own memory, the same for all executions; and objects that each evaluation makes anew.
    assert {owner for owner, _ in found} - workers == {"EvalComponent"}


def attributes_set_later(owner: ast.ClassDef) -> Iterator[str]:
    """Yield the attributes that methods set which do not build the object."""
    for method in owner.body:
        if isinstance(method, ast.FunctionDef) and method.name not in {"__init__", "from_state_props"}:
            for node in ast.walk(method):
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        yield name
