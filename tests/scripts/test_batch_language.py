"""The page of the batch language says what the parser takes."""

import json
import re

import pytest

from mcpist.batch.language.steps import StepModel, parse
from mcpist.batch.options import BatchOptions
from scripts import batch_language

PAGE = "\n".join(batch_language.lines())
ROWS = {row[0]: row for line in PAGE.splitlines() if len(row := re.findall(r"`([^`]+)`", line)) > 0 and line[0] == "|"}


def test_each_field_and_each_option_has_a_row() -> None:
    assert {*StepModel.model_fields, *BatchOptions.model_fields} <= ROWS.keys()


def test_each_condition_of_the_page_is_taken() -> None:
    shown = PAGE.partition("## Conditions")[2].partition("## Errors")[0]
    conditions = [
        re.split(r" {3,}", line)[0].replace("value]", "7]") for line in shown.splitlines() if line[:1] in {'"', "{"}
    ]
    assert len(conditions) == 4
    for condition in conditions:
        written = {"id": "y", "tool": "rag.get_doc", "when": json.loads(condition)}
        problems: list[object] = []
        assert len(parse([{"id": "x", "tool": "rag.list_tags"}, written], problems)) == 2  # type: ignore[arg-type]
        assert not problems


@pytest.mark.parametrize(
    ("name", "value"), [("each_limit", 10_001), ("timeout", 26), ("retry", 4), ("retry_delay", 11)]
)
def test_a_value_over_the_bound_of_the_page_is_refused(name: str, value: int) -> None:
    (bound,) = re.findall(rf"`{name}` \|.*?at most (\d+)", PAGE)[:1]
    assert int(bound) == value - 1
    for given, refused in ((value - 1, 0), (value, 1)):
        problems: list[object] = []
        parse([{"id": "x", "tool": "rag.list_tags", name: given}], problems)  # type: ignore[arg-type]
        assert len(problems) == refused


def test_the_errors_of_the_language_are_among_those_of_the_page() -> None:
    assert {"InvalidLine", "DuplicateStep", "EmptyBatch", "TooManySteps"} <= {
        one.__name__ for one in batch_language.refusals()
    }
