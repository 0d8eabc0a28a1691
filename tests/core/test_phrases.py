"""The problems of errors in Japanese: nothing that a caller meets stays English, and no text of the table is dead."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic_core import PydanticKnownError, core_schema

from mcpist.error_base import TEXTS_FOLDER, error_texts
from mcpist.errors import InvalidArguments, InvalidLine, InvalidRequest
from mcpist.phrases import PLACEHOLDER, translated

ROOT = Path(__file__).parents[2]
JAPANESE = TEXTS_FOLDER / "ja_problems.toml"
SOURCES = [
    file
    for folder in ("functions", "layers/core", "layers/services", "infra")
    for file in (ROOT / folder).rglob("*.py")
]
# Rooms of which a caller sees each problem.
CALLERS = (
    "core/mcpist/batch",
    "core/mcpist/files",
    "core/mcpist/policies",
    "core/mcpist/tools",
    "functions/console",
    "functions/login",
    "functions/mcp_endpoint",
    "functions/rest_api",
)
# With a problem among their arguments.
RAISED = {"ArgumentProblem", "PydanticCustomError", "ValueError", "unresolved_error", "unknown_field", "_invalid"}
# Errors of a declaration or of a generated file, which no caller sees; `Write` is said in the hint, in code.
DEFECTS = (
    "a step needs a step",
    "the steps 7",
    "the index has",
    "7.7 is declared",
    "7 declares no",
    "7 does not begin",
    "no example can",
    "Write 7.",
    "write {",
)
# A model of ours has no field whose JSON could fail so.
OF_PYTHON = re.compile(
    "json_type|needs_python|frozen|no_such_attribute|attribute|dataclass_exact|named_tuple|default_factory|iterable|"
    "iteration|hashable|ordered_dict|counter|mapping|deque|^set_type|sentinel|ellipsis|bytes|_past|_future|naive|"
    "timezone_offset|time_delta|instance_of|subclass|callable|argument|uuid|decimal|fraction|complex|^time_|"
    "object_invalid|syntax_violation|assertion|string_unicode|tuple_from"
)
CONTEXT: Mapping[str, Any] = dict.fromkeys(
    [
        "gt",
        "ge",
        "lt",
        "le",
        "multiple_of",
        "min_length",
        "max_length",
        "actual_length",
        "max_digits",
        "decimal_places",
        "whole_digits",
    ],
    7,
) | dict.fromkeys(
    [
        "field_type",
        "pattern",
        "expected",
        "error",
        "class_name",
        "tag",
        "discriminator",
        "expected_tags",
        "expected_schemes",
    ],
    "x1",
)
ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,}")


def test_each_message_of_pydantic_that_json_can_cause_is_translated() -> None:
    types = [kind for kind in get_args(core_schema.ErrorType) if not OF_PYTHON.search(kind)]
    messages = {kind: PydanticKnownError(kind, dict(CONTEXT)).message() for kind in types}
    assert len(messages) > 40
    left = {kind: text for kind, text in messages.items() if ENGLISH.search(translated(text, JAPANESE))}
    assert not left


def test_each_problem_that_a_caller_meets_is_translated() -> None:
    problems = {
        text: str(file.relative_to(ROOT))
        for file in SOURCES
        if any(room in str(file) for room in CALLERS)
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        for said in _problems(node)
        for text in _texts(said)
        if " " in text and not text.startswith(DEFECTS)
    }
    assert len(problems) > 40
    assert not {text: file for text, file in problems.items() if translated(text, JAPANESE) == text}


def test_no_text_of_the_table_is_dead() -> None:
    written = [
        text for file in SOURCES for node in ast.walk(ast.parse(file.read_text("utf-8"))) for text in _texts(node)
    ]
    pydantic = [PydanticKnownError(kind, {**CONTEXT, "attribute": "x"}).message_template for kind in _known_kinds()]
    table = tomllib.loads(JAPANESE.read_text("utf-8"))
    known = dict.fromkeys([*pydantic, *written, *OTHERS, *(one.partition(": line")[0] for one in OTHERS)])
    dead = []
    for english in table.keys() - known.keys():  # most stand in a source as they are
        fixed = PLACEHOLDER.split(english)[::2]
        pattern = re.compile(".*".join(map(re.escape, fixed)), re.DOTALL)
        if not any(pattern.fullmatch(text) for text in known):
            dead.append(english)
    assert not dead


def test_placeholders_of_a_translation_are_those_of_its_text() -> None:
    table = tomllib.loads(JAPANESE.read_text("utf-8"))
    plain = {english: text for english, text in table.items() if PLACEHOLDER.search(english)}
    odd = {
        english for english, text in plain.items() if set(PLACEHOLDER.findall(text)) - set(PLACEHOLDER.findall(english))
    }
    assert not odd


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("Field required", "必須です"),
        ("Input should be 'a', 'b' or 'c'", "'a', 'b' か 'c' にしてください"),
        ("List should have at least 1 item after validation, not 0", "1 個以上必要です(現在 0 個)"),
        ("there is no such field: did you mean title?", "この項目はありません。title のことですか"),
        ("Value error, it is no JSON: x", "JSON ではありません: x"),
        ("The vendor's own words", "The vendor's own words"),
        ("Field required" * 400, "Field required" * 400),
    ],
)
def test_a_problem_is_translated_with_its_values(problem: str, expected: str) -> None:
    assert translated(problem, JAPANESE) == expected


def test_an_error_is_in_one_language_with_its_further_problems() -> None:
    further = [{"field": "tags", "problem": "Input should be a valid list"}]
    error = InvalidArguments(
        module="notion", tool="create_page", field="title", problem="Field required", problems=further, schema={}
    )
    shown = error.as_dict("ja")
    assert shown["message"] == "notion.create_page: title: 必須です"
    assert shown["details"]["problem"] == "必須です"
    assert shown["details"]["problems"] == [{"field": "tags", "problem": "リストにしてください"}]
    assert error.as_dict("en")["details"]["problems"] == further
    others = [InvalidLine(line=2, field="id", problem="Field required")]
    batch = InvalidRequest(field="commands", problem="it has expired").with_details(problems=others)
    assert batch.as_dict("ja")["details"]["problems"][0]["message"] == error_texts("ja")["line_prefix"].format(
        line=2
    ) + ("id: 必須です")


def _refusal_of_json(text: str) -> str:
    with pytest.raises(json.JSONDecodeError) as refused:
        json.loads(text)
    return str(refused.value)


# Joined by pydantic, by a batch's steps and columns, and by the reader of JSON.
OTHERS = (
    "Input should be x or y",
    " (fields: id, tool)",
    'write "${x.path}", {"exists"}',
    "Columns: 7. In its JSON perhaps: 7.",
    *map(_refusal_of_json, ('{"a" 1}', "{a}", "[1] 2", '["a', "[1,")),
)


def _problems(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions of a call or an assignment that are a problem."""
    match node:
        case ast.Assign(targets=[ast.Name(id="problem")], value=value):
            yield value
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            yield from (keyword.value for keyword in keywords if keyword.arg == "problem")
            yield from args if name in RAISED else ()


def _known_kinds() -> Iterator[Any]:
    for kind in get_args(core_schema.ErrorType):
        if not OF_PYTHON.search(kind):
            yield kind


def _texts(node: ast.AST) -> list[str]:
    """Return the texts that an expression can be, with 7 for each value."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(str(one.value) if isinstance(one, ast.Constant) else "7" for one in values)]
        case ast.IfExp(body=body, orelse=orelse):
            return [*_texts(body), *_texts(orelse)]
    return []
