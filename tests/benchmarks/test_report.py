from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.report import BENCHMARKS, COSTS, keep, missed, table


def test_a_table_has_its_columns_and_rows() -> None:
    assert table(["what", "seen"], [["calls", "3"]]) == "| what | seen |\n| --- | --- |\n| calls | 3 |\n"


def test_a_text_is_written_between_its_marks_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- load -->\nold\n<!-- /load -->\n\n<!-- engine -->\nkept\n<!-- /engine -->\n", "utf-8")
    keep("new\n", page, "load")
    assert page.read_text("utf-8") == (
        "# A\n\n<!-- load -->\nnew\n<!-- /load -->\n\n<!-- engine -->\nkept\n<!-- /engine -->\n"
    )


def test_a_page_without_the_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n", "utf-8")
    with pytest.raises(ValueError, match="no place for load"):
        keep("new\n", page, "load")
    assert page.read_text("utf-8") == "# A\n"


@pytest.mark.parametrize(
    ("page", "name"), [(BENCHMARKS, "engine"), (BENCHMARKS, "soak"), (BENCHMARKS, "saturation"), (COSTS, "costs")]
)
def test_each_page_has_the_marks_of_its_tables(page: Path, name: str) -> None:
    assert page.read_text("utf-8").count(f"<!-- {name} -->\n") == 1
    assert page.read_text("utf-8").count(f"<!-- /{name} -->\n") == 1


@pytest.mark.parametrize("name", ["contention", "machines", "tokens", "upstreams"])
def test_every_measurement_with_the_tests_peers_can_be_imported(name: str) -> None:
    assert import_module(f"benchmarks.{name}").rows


@pytest.mark.parametrize(
    ("seen", "bound"),
    [
        ("1.00 (486 ms : 486 ms)", "1"),
        ("11 ms (1.01 x)", "2 x"),
        ("97.3%", "95 % or more"),
        ("80 KB, 565 KB", "1,000 KB"),
        ("3 + 3", "3 + 3"),
        ("1.00, 95th percentile 1.00", "1.00"),
        ("none", "none"),
        ("4 + 2 polls", "constant + polls"),
        ("5 of 6", ""),
    ],
)
def test_a_value_within_its_bound_is_not_named(seen: str, bound: str) -> None:
    assert missed([("it", seen, bound)]) == []


@pytest.mark.parametrize(
    ("seen", "bound"),
    [
        ("1.01 (491 ms : 486 ms)", "1"),
        ("11 ms (2.01 x)", "2 x"),
        ("91.2%", "95 % or more"),
        ("80 KB, 1,565 KB", "1,000 KB"),
        ("3 + 4", "3 + 3"),
        ("1.00, 95th percentile 1.02", "1.00"),
        ("1 TIMEOUT", "none"),
    ],
)
def test_a_value_beyond_its_bound_is_named(seen: str, bound: str) -> None:
    assert missed([("it", seen, bound)]) == [f"it: {seen}, and the bound is {bound}"]
