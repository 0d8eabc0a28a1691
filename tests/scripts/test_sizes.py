"""The table of sizes, and the faults that the gate finds."""

import ast
from itertools import takewhile

import pytest

from scripts import sizes


@pytest.mark.slow
def test_the_table_counts_files_functions_and_tools(capsys: pytest.CaptureFixture[str]) -> None:
    sizes.main()
    printed = capsys.readouterr().out.splitlines()
    start = next(number for number, line in enumerate(printed) if line.strip().startswith("count")) + 1
    table = takewhile(lambda line: not line.endswith("faults"), printed[start:])
    counts = {line[:28].strip(): int(line[28:35]) for line in table if not line.startswith(" ")}
    assert counts["files"] < counts["functions"]
    assert counts["tools with decorators"] == counts["tools without decorators"] > 100
    assert f"{counts['files']} files" in printed[0]


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        ({"a": '"""A."""\nclass Line: ...\n', "b": '"""B."""\nclass Line: ...\n'}, "class Line: a, b"),
        ({"a": '"""A."""\nMAX = 1\n', "b": '"""B."""\nMAX = 2\n'}, "constant MAX: 1 in a, 2 in b"),
        ({"a": "x = 1\n"}, "a has no docstring"),
        ({"a": '"""What a file is."""\n'}, "a:1: What a file is."),
        ({"a": '"""A."""\ndef f():\n    """Return what it is."""\n'}, "a:2: Return what it is."),
    ],
)
def test_each_fault_is_named_with_its_places(texts: dict[str, str], fault: str) -> None:
    assert sizes.faults({file: ast.parse(text) for file, text in texts.items()}) == [fault]


def test_private_classes_and_equal_values_are_no_faults() -> None:
    text = '"""A."""\nMAX = 1\nclass _Line: ...\n'
    assert sizes.faults({"a": ast.parse(text), "b": ast.parse(text)}) == []
