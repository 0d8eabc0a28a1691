"""The examples and README's batch, as a newcomer runs them."""

import re
from pathlib import Path

import pytest

from tests.whole.conftest import McpUser

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FAILING = {"go_on.jsonl": "FILE_NOT_FOUND"}
FILES = sorted(EXAMPLES.glob("*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_an_example_runs(user: McpUser, file: Path) -> None:
    commands = file.read_text("utf-8")
    summary, *blocks = user.texts("batch", commands=commands)
    ended = "done with errors" if file.name in FAILING else "done"
    assert f"{ended}, {len(commands.splitlines())} of {len(commands.splitlines())} steps" in summary
    errors = [block for block in blocks if "failed" in block.partition("\n")[0]]
    assert len(errors) == (file.name in FAILING), blocks
    assert all(FAILING[file.name] in error for error in errors)


def test_every_example_is_described() -> None:
    described = (EXAMPLES / "README.md").read_text("utf-8")
    assert FILES
    assert all(f"[{file.name}]({file.name})" in described for file in FILES)


def test_the_batch_of_the_readme_runs(user: McpUser) -> None:
    found = re.search(r"<<'STEPS'\n(.*?)STEPS\n", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found
    summary = user.texts("batch", commands=found[1])[0]
    assert "done, 4 of 4 steps" in summary
