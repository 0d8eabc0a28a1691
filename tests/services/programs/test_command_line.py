"""Command lines: as CWL's binding says, and no value becomes an option."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.errors import InvalidRequest
from mcpist_services.programs.command_line import command_line
from mcpist_services.programs.declaration import ToolDeclaration
from tests.faults import for_each
from tests.peers import pypi
from tests.services.programs.cwl import command_line_tool, words_of
from tests.services.programs.declarations import PRINT_ARGUMENTS, TEXT, parsed

NUMBER, WHOLE, FLAG = {"type": "number"}, {"type": "integer"}, {"type": "boolean"}
TEXTS = {"type": "array", "items": TEXT}
PEER = Path(__file__).parents[2] / "peers/cwl_peer.py"


@for_each(
    ("binding", "spec", "value", "words"),
    [
        ({}, TEXT, "a b", ["a b"]),
        ({}, TEXT, "", [""]),
        ({"prefix": "--title"}, TEXT, "-x", ["--title", "-x"]),
        ({"prefix": "--title=", "separate": False}, TEXT, "-x", ["--title=-x"]),
        ({"prefix": "-n", "separate": False}, WHOLE, -3, ["-n-3"]),
        ({"prefix": "-n"}, NUMBER, 1e-07, ["-n", "0.0000001"]),
        ({"prefix": "-n"}, NUMBER, 2.5, ["-n", "2.5"]),
        ({"prefix": "--all"}, FLAG, True, ["--all"]),
        ({"prefix": "--all"}, FLAG, False, []),
        ({"prefix": "--all"}, TEXT, None, []),
        ({"prefix": "-f"}, TEXTS, ["a", "b"], ["-f", "a", "b"]),
        ({"prefix": "-f"}, TEXTS, [], []),
        ({"prefix": "-f", "itemSeparator": ","}, TEXTS, ["a", "b c"], ["-f", "a,b c"]),
        ({"prefix": "-f=", "separate": False, "itemSeparator": ","}, TEXTS, ["a", "b"], ["-f=a,b"]),
        ({"items": {"prefix": "-f"}}, TEXTS, ["-a", "b"], ["-f", "-a", "-f", "b"]),
        ({"items": {"prefix": "-f", "separate": False}}, TEXTS, ["a", "b"], ["-fa", "-fb"]),
        ({"items": {"prefix": "-v"}}, {"type": "array", "items": FLAG}, [True, False, True], ["-v", "-v"]),
        ({}, {"type": "array", "items": FLAG}, [True], []),
    ],
)
def test_a_value_becomes_the_words_that_cwl_says(binding: Any, spec: Any, value: Any, words: list[str]) -> None:
    made = parsed(["run", {"input": "it", **binding}], {"it": spec})
    assert command_line(made, {"it": value}) == words


def test_words_are_sorted_by_position_and_keep_their_order_within_one() -> None:
    argv = [
        "run",
        {"input": "last", "position": 2},
        {"input": "b"},
        "--",
        {"input": "a"},
        {"input": "z", "position": -1},
    ]
    made = parsed(argv, dict.fromkeys(("last", "a", "b", "z"), TEXT))
    assert command_line(made, {"last": "l", "a": "-a", "b": "b", "z": "z"}) == ["z", "b", "--", "-a", "l"]


@pytest.mark.parametrize("value", ["-x", "--pre=sh", "-", ["ok", "--pre=sh"], -5])
def test_a_value_that_the_program_would_take_for_an_option_is_refused(value: Any) -> None:
    spec = {"type": "array", "items": TEXT} if isinstance(value, list) else {"type": ["string", "integer"]}
    made = parsed(
        ["run", {"input": "it", "prefix": "--files"} if isinstance(value, list) else {"input": "it"}], {"it": spec}
    )
    with pytest.raises(InvalidRequest, match="option") as caught:
        command_line(made, {"it": value})
    assert caught.value.details["field"] == ("params.it.1" if isinstance(value, list) else "params.it")


def test_only_a_word_of_the_declaration_ends_the_options() -> None:
    argv = ["run", {"input": "title", "prefix": "--title"}, "fixed", {"input": "file"}]
    made = parsed(argv, {"title": TEXT, "file": TEXT})
    with pytest.raises(InvalidRequest, match="option"):
        command_line(made, {"title": "--", "file": "--pre=sh"})


@pytest.mark.parametrize(("value", "problem"), [("a\0b", "NUL"), ("\ud800", "Unicode"), ("é" * 50_001, "file")])
def test_a_value_that_no_argument_can_be_is_refused(value: str, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        command_line(parsed(["run", {"input": "it"}], {"it": TEXT}), {"it": value})


def test_a_command_line_has_a_limit() -> None:
    made = parsed(["run", {"input": "it"}], {"it": TEXTS})
    with pytest.raises(InvalidRequest, match="longer than"):
        command_line(made, {"it": ["x" * 99_000] * 11})


def test_a_program_receives_exactly_these_words() -> None:
    values = ["$(id)", "`id`", "a;b", "a\nb", "*", "~", "'\"\\", "日本語", "", "a=b", "%s", "\x7f\x1b[31m"]
    words = command_line(parsed(["run", "--", {"input": "it"}], {"it": TEXTS}), {"it": values})
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_ARGUMENTS, *words], capture_output=True, check=True, timeout=60
    ).stdout
    assert json.loads(printed) == ["--", *values]


def _random_case(random: Random) -> tuple[ToolDeclaration, dict[str, Any]]:
    """A declaration of a few inputs of any kind, and values that no program takes for options."""
    properties: dict[str, Any] = {}
    argv: list[Any] = ["run"]
    arguments: dict[str, Any] = {}
    for number in range(random.randint(1, 6)):
        name, kind = f"i{number}", random.choice(["string", "integer", "number", "boolean", "array"])
        binding: dict[str, Any] = {"input": name, "position": random.randint(-2, 3)}
        if kind == "boolean" or random.random() < 0.6:
            binding |= {"prefix": random.choice(["-a", "--long", "--name="]), "separate": random.random() < 0.5}
        if kind != "array":
            properties[name], value = {"type": kind}, _value(random, kind)
        else:
            inner = random.choice(["string", "integer", "boolean"])
            properties[name] = {"type": "array", "items": {"type": inner}}
            value = [_value(random, inner) for _ in range(random.randint(0, 3))]
            if inner != "boolean" and random.random() < 0.4:
                binding["itemSeparator"] = random.choice([",", " ", "::"])
            elif random.random() < 0.5:
                binding["items"] = {"prefix": "-i", "separate": random.random() < 0.5}
        if random.random() < 0.85:
            arguments[name] = value
        argv += [binding, f"fixed{number}"] if random.random() < 0.3 else [binding]
    return parsed(argv, properties), arguments


def _value(random: Random, kind: str) -> Any:
    match kind:
        case "integer":
            return random.randint(0, 10**12)
        case "number":
            return random.choice([0.5, 12.25, 3.0, 1234.125])
        case "boolean":
            return random.random() < 0.5
    return "".join(random.choice("aB =,;$'\"日é/*") for _ in range(random.randint(1, 6)))


@given(st.randoms(use_true_random=False))
def test_any_declaration_agrees_with_a_reading_of_the_standard(random: Random) -> None:
    made, arguments = _random_case(random)
    assert ["run", *command_line(made, arguments)] == words_of(command_line_tool(made), arguments)


@pytest.mark.slow
def test_any_declaration_agrees_with_the_reference_implementation() -> None:
    cases = [_random_case(Random(seed)) for seed in range(150)]  # noqa: S311 - the same cases each time
    asked = "".join(json.dumps({"tool": command_line_tool(made), "inputs": given}) + "\n" for made, given in cases)
    answered = subprocess.run(
        [pypi.programs("cwl") / "python", PEER], input=asked, capture_output=True, text=True, check=True, timeout=240
    ).stdout.splitlines()
    assert [json.loads(line) for line in answered] == [["run", *command_line(made, given)] for made, given in cases]
