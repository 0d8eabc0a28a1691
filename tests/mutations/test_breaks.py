"""Breaks that are drawn: each is one line, and what is drawn depends on the seed and the sources alone."""

from pathlib import Path

import pytest

from tests.mutations.breaks import breaks, draw
from tests.mutations.rooms import stages

ROOT = Path(__file__).parents[2]
SOURCE = '''
def first(items, limit=10):
    """Say 3 things."""
    if limit < 5 and items:
        items.clear()
    return items[0] if limit is None else [item for item in items if item]
'''


def test_each_kind_of_break_changes_one_line() -> None:
    found = {one.after.strip(): one.kind for one in breaks("a.py", SOURCE)}
    assert found == {
        "def first(items, limit=0):": "constant changed",
        "if not (limit < 5 and items):": "branch negated",
        "if limit < 5 or items:": "and turned to or, or the reverse",
        "if limit <= 5 and items:": "comparison turned",
        "if limit < 0 and items:": "constant changed",
        "pass": "statement dropped",
        "return None": "nothing returned",
        "return items[1] if limit is None else [item for item in items if item]": "constant changed",
        "return items[0] if not (limit is None) else [item for item in items if item]": "branch negated",
        "return items[0] if limit is not None else [item for item in items if item]": "comparison turned",
        "return items[0] if limit is None else [item for item in items if not (item)]": "branch negated",
    }


def test_equal_seeds_draw_equal_breaks_that_are_python(tmp_path: Path) -> None:
    (tmp_path / "functions").symlink_to(ROOT / "functions/rest_api")  # the whole product takes seconds
    drawn = draw(tmp_path, 3, 20)
    assert drawn == draw(tmp_path, 3, 20) != draw(tmp_path, 4, 20)
    assert all(one.is_python(tmp_path) for one in drawn)


@pytest.mark.parametrize(
    ("file", "first", "later"),
    [
        ("layers/core/mcpist/running/send.py", "core/running/test_send.py", "core/running/test_gate.py"),
        ("functions/rest_api/routes.py", "rest_api/test_handler.py", "rest_api/test_administration.py"),
        ("layers/services/mcpist_services/jira/refusals.py", "services/jira/test_adf.py", "services/test_contract.py"),
    ],
)
def test_the_nearest_tests_run_first(file: str, first: str, later: str) -> None:
    order = [test for tests in stages(ROOT, file) for test in tests]
    assert order[0] == f"tests/{first}"
    assert f"tests/{later}" in order
    assert len(order) == len(set(order))
