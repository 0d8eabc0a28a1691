from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.report import BENCHMARKS, COSTS, keep, table


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


@pytest.mark.parametrize(("page", "name"), [(BENCHMARKS, "engine"), (BENCHMARKS, "load"), (COSTS, "costs")])
def test_each_page_has_the_marks_of_its_tables(page: Path, name: str) -> None:
    assert page.read_text("utf-8").count(f"<!-- {name} -->\n") == 1
    assert page.read_text("utf-8").count(f"<!-- /{name} -->\n") == 1


@pytest.mark.parametrize("name", ["contention", "machines", "tokens", "upstreams"])
def test_every_measurement_with_the_tests_peers_can_be_imported(name: str) -> None:
    assert import_module(f"benchmarks.{name}").rows
