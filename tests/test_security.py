"""docs/security.md promises nothing without a test."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs/security.md").read_text("utf-8")
ROWS = re.findall(r"(?m)^\| (.+) \| `([\w/]+\.py)::(test_\w+)` \|$", PAGE)


def test_every_promise_names_its_test() -> None:
    table = PAGE.partition("| promise | test |")[2].partition("\n\n")[0].strip().splitlines()[1:]
    assert len(table) == len(ROWS) > 40


@pytest.mark.parametrize(("promise", "file", "name"), ROWS)
def test_the_test_of_a_promise_exists(promise: str, file: str, name: str) -> None:
    assert re.search(rf"(?m)^def {name}\(", (TESTS / file).read_text("utf-8")), promise
