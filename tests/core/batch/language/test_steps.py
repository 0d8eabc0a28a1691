import json
from typing import Any

import pytest

from mcpist.batch.language.steps import MAX_BATCH_STEPS, Problems, Step, parse
from mcpist.errors import DuplicateStep, EmptyBatch, InvalidLine, TooManySteps
from tests.faults import for_each

EACH = "it is one reference to a list, such as ${find.items}"
WHEN = 'write "${x.path}", {"exists": "${x.path}"}, {"not_empty": "${x.path}"} or {"equals": ["${x.path}", value]}'


def read(commands: str | list[Any]) -> list[Step]:
    problems: Problems = []
    steps = parse(commands, problems)
    assert problems == []
    return steps


def wrong(commands: str | list[Any]) -> Problems:
    problems: Problems = []
    parse(commands, problems)
    return problems


def line(**fields: Any) -> str:
    return json.dumps({"module": "m", "tool": "t"} | fields)


def test_a_line_is_a_step() -> None:
    text = line(id="a", params={"x": [1, {"y": None}]}, after=["b"], output=True, raw_output=True)
    assert read(text) == [
        Step(
            line=1,
            has_explicit_id=True,
            id="a",
            module="m",
            tool="t",
            params={"x": [1, {"y": None}]},
            after=("b",),
            output=True,
            raw_output=True,
        )
    ]


def test_missing_fields_have_defaults_and_the_id_comes_from_the_line() -> None:
    assert read(f"\n\n{line()}") == [Step(line=3, id="line3", has_explicit_id=False, module="m", tool="t")]


def test_a_line_may_have_each_when_timeout_and_on_error() -> None:
    (found,) = read(
        line(each="${a.items}", each_limit=1000, when={"equals": ["${each.x}", [1]]}, on_error="continue", timeout=2.5)
    )
    assert (found.each, found.each_limit) == ("${a.items}", 1000)
    assert found.when == {"equals": ["${each.x}", [1]]}
    assert (found.on_error, found.timeout) == ("continue", 2.5)
    (found,) = read(line(retry=2, retry_delay=0.5))
    assert (found.options.retry, found.options.retry_delay) == (2, 0.5)


def test_a_when_that_is_one_reference_means_not_empty() -> None:
    assert read(line(when="${a.items}"))[0].when == {"not_empty": "${a.items}"}


def test_after_may_be_one_id_without_a_list() -> None:
    assert read(line(after="b"))[0].after == ("b",)


@pytest.mark.parametrize(
    "text",
    [
        f"{line(id='a')}\n{line(id='b')}",
        f"{line(id='a')}\r\n{line(id='b')}\r\n",
        f"\n \t\n{line(id='a')}\n\n\n{line(id='b')}\n\n",
        f"\ufeff{line(id='a')}\n{line(id='b')}",
        f"  {line(id='a')}  \n\t{line(id='b')}",
    ],
)
def test_line_ends_blank_lines_and_a_byte_order_mark_do_not_matter(text: str) -> None:
    assert [step.id for step in read(text)] == ["a", "b"]


def test_a_line_separator_inside_a_text_ends_no_line() -> None:
    text = json.dumps({"module": "m", "tool": "t", "params": {"x": "a\u2028b\x85c"}}, ensure_ascii=False)
    assert read(text)[0].params == {"x": "a\u2028b\x85c"}


def test_a_list_of_objects_is_a_batch_too() -> None:
    steps = read([{"id": "a", "module": "m", "tool": "t"}, {"module": "m", "tool": "t"}])
    assert [(step.line, step.id, step.has_explicit_id) for step in steps] == [(1, "a", True), (2, "line2", False)]


@pytest.mark.parametrize("text", ['[{"module": "m", "tool": "t"}]', '\ufeff\n[\n {"module": "m",\n  "tool": "t"}\n]\n'])
def test_a_list_may_come_as_text(text: str) -> None:
    assert read(text) == read([{"module": "m", "tool": "t"}])


def test_a_text_that_is_nearly_a_list_is_reported_by_its_lines() -> None:
    assert [problem.details["line"] for problem in wrong('[{"module": "m"},\n{]')] == [1, 2]


def test_a_malformed_line_is_reported_and_the_others_are_parsed() -> None:
    problems: Problems = []
    steps = parse(f'{line(id="a")}\n{{"id": "b",}}\n{line(id="c")}', problems)
    assert [step.id for step in steps] == ["a", "c"]
    (problem,) = problems
    assert isinstance(problem, InvalidLine)
    assert problem.text().message.startswith("Line 2: column 11: ")


@for_each(
    ("value", "field", "problem"),
    [
        ({"id": 7}, "id", "Input should be a valid string"),
        ({"id": "a b"}, "id", "it begins with a letter or _, and has up to 64 letters, digits, - and _"),
        ({"id": "7a"}, "id", "it begins with a letter or _, and has up to 64 letters, digits, - and _"),
        ({"id": "a" * 65}, "id", "it begins with a letter or _, and has up to 64 letters, digits, - and _"),
        ({"id": "a\n"}, "id", "it begins with a letter or _, and has up to 64 letters, digits, - and _"),
        ({"id": ""}, "id", "it begins with a letter or _, and has up to 64 letters, digits, - and _"),
        ({"module": 7}, "module", "Input should be a valid string"),
        ({"params": []}, "params", "Input should be a valid dictionary"),
        ({"after": 1}, "after", "it is an id, or a list of ids"),
        ({"after": [1]}, "after.0", "Input should be a valid string"),
        ({"output": "yes"}, "output", "Input should be a valid boolean"),
        (
            {"arg": {}},
            "arg",
            "there is no such field (fields: id, module, tool, params, after, output, raw_output, each, each_limit, "
            "when, on_error, timeout, account, retry, retry_delay, undoes, anyway)",
        ),
        ({"id": "each"}, "id", "each stands for the element of a list: take another id"),
        ({"each": "find.items"}, "each", EACH),
        ({"each": "${a.items}${b.items}"}, "each", EACH),
        ({"each": " ${a.items}"}, "each", EACH),
        ({"each": ["a"]}, "each", "Input should be a valid string"),
        ({"each_limit": 0}, "each_limit", "Input should be greater than or equal to 1"),
        ({"each_limit": 10_001}, "each_limit", "Input should be less than or equal to 10000"),
        ({"on_error": "ignore"}, "on_error", "Input should be 'stop' or 'continue'"),
        ({"timeout": 26}, "timeout", "Input should be less than or equal to 25"),
        ({"retry": 4}, "retry", "Input should be less than or equal to 3"),
        ({"timeout": "5"}, "timeout", "Input should be a valid number"),
        ({"when": "x"}, "when", WHEN),
        ({"when": True}, "when", WHEN),
        ({"when": {}}, "when", WHEN),
        ({"when": {"exists": "a.b"}}, "when", WHEN),
        ({"when": {"exists": "${a}", "equals": ["${a}", 1]}}, "when", WHEN),
        ({"when": {"equals": ["${a}"]}}, "when", WHEN),
        ({"when": {"equals": [1, "${a}"]}}, "when", WHEN),
        ({"when": {"unless": "${a}"}}, "when", WHEN),
    ],
)
def test_a_wrong_field_is_reported_with_what_is_allowed(value: Any, field: str, problem: str) -> None:
    for commands in (line(**value), [{"module": "m", "tool": "t"} | value]):
        (found,) = wrong(commands)
        assert (found.details["line"], found.details["field"], found.details["problem"]) == (1, field, problem)


def test_all_errors_of_a_line_are_reported_together() -> None:
    found = wrong('{"id": "a", "modul": "m", "output": 1}')
    assert [problem.details["field"] for problem in found] == ["tool", "output", "modul"]
    assert {problem.details["id"] for problem in found} == {"a"}


@pytest.mark.parametrize("value", [[[]], "text", 7, None, True])
def test_a_line_that_is_no_object_is_refused(value: Any) -> None:
    for commands in (json.dumps(value), [value]):
        (found,) = wrong(commands)
        assert found.text().message == "Line 1: line: a step is one JSON object"


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "9" * 5000])
def test_a_number_that_is_none_in_json_is_refused(number: str) -> None:
    (found,) = wrong(f'{{"module": "m", "tool": "t", "params": {{"x": {number}}}}}')
    assert isinstance(found, InvalidLine)


@pytest.mark.parametrize("depth", [300, 5_000, 100_000])
def test_a_line_that_is_nested_too_deep_is_refused(depth: int) -> None:
    bomb = "[" * depth + "]" * depth
    for place in (f'"params": {{"x": {bomb}}}', f'"when": {{"equals": ["${{a}}", {bomb}]}}'):
        (found,) = wrong(f'{{"module": "m", "tool": "t", {place}}}')
        assert found.details["problem"] == "it is nested too deep"
        assert len(found.details["field"]) < 40


def test_an_id_may_be_used_once() -> None:
    (found,) = wrong(f"{line(id='a')}\n{line(id='b')}\n{line(id='a')}")
    assert isinstance(found, DuplicateStep)
    assert found.text().message == 'Line 3: the id "a" is taken by line 1.'


def test_the_id_that_is_made_from_a_line_may_not_be_used_by_another() -> None:
    assert isinstance(wrong(f"{line(id='line2')}\n{line()}")[0], DuplicateStep)


@pytest.mark.parametrize("nothing", ["", "\n \n", "\ufeff", []])
def test_a_batch_without_a_line_is_refused(nothing: Any) -> None:
    (found,) = wrong(nothing)
    assert isinstance(found, EmptyBatch)


def test_a_hundred_steps_are_allowed_and_one_more_is_the_only_problem() -> None:
    assert len(read("\n".join([line()] * MAX_BATCH_STEPS))) == 100
    for commands in ("\n".join([line()] * 100 + ["broken"]), [{}] * 101):
        (found,) = wrong(commands)
        assert isinstance(found, TooManySteps)
        assert found.text().message == "The batch has 101 steps; at most 100 are allowed."
