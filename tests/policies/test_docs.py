"""The five examples of docs/policies.md, each planned as it stands there."""

import re

import pytest

from infra.cli.plan import plan_batch
from infra.source import ROOT
from mcpist.errors import McpistError

EXAMPLE = re.compile(
    r"^### \d\. (.*?)\n.*?^```cedar\n(.*?)^```.*?^```jsonl\n(.*?)^```.*?^```text\n(.*?)^```", re.MULTILINE | re.DOTALL
)
EXAMPLES = EXAMPLE.findall((ROOT / "docs/policies.md").read_text("utf-8"))


@pytest.mark.parametrize(
    ("policies", "batch", "expected"), [one[1:] for one in EXAMPLES], ids=[one[0] for one in EXAMPLES]
)
def test_an_example_of_the_page_decides_as_it_says(policies: str, batch: str, expected: str) -> None:
    try:
        found = "".join(f"{step['id']}: {step['policy']}\n" for step in plan_batch(batch, policies).metadata["steps"])
    except McpistError as error:
        place = error.details
        found = f"line {place.get('line')}, {place.get('id')}: {error.code} by {place.get('policy', error)}\n"
    assert found == expected


def test_there_are_five() -> None:
    assert len(EXAMPLES) == 5
