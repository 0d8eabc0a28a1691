"""Tables and paragraphs at the width of a terminal, in both languages."""

import pytest
from rich.cells import cell_len

from infra.cli.document import LOCALE
from infra.cli.table import paragraph, render_table, table_rows

ROWS = [
    (
        "confluence",
        "19",
        "Confluence: spaces, pages and blog posts as Markdown, comments, people, labels, files, tasks.",
    ),
    (
        "supabase",
        "3",
        "Supabase: プロジェクト、SQL、マイグレーション、ログ、アドバイザー、キー、関数、ブランチ、表の行。",
    ),
    ("x", "1", "https://mcp.example.com/an/address/without/a/space/that/is/longer/than/the/column/is/wide"),
]
HEAD = ("module", "tools", "what it has")


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = table_rows(HEAD, ROWS)
    assert [line for row in rows for line in row.splitlines() if cell_len(line) > columns] == []
    for row, (name, _, text) in zip(rows[1:], ROWS, strict=True):
        assert row.startswith(name)
        own = "".join(line[row.index(text[:4]) :] for line in row.splitlines())
        assert own.replace(" ", "") == text.replace(" ", "")
    assert not [line for row in rows for line in row.splitlines() if line.strip().startswith(("、", "。"))]


def test_a_table_that_fits_is_as_wide_as_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert render_table(HEAD, ROWS[:1]).splitlines()[1] == "  ".join(("confluence", "19   ", ROWS[0][2]))


def test_the_lines_of_a_paragraph_are_indented_after_the_first() -> None:
    assert paragraph("  one two three", 6, 14).splitlines() == ["  one", "      two", "      three"]


def test_heads_are_in_the_language_of_the_command_line() -> None:
    token = LOCALE.set("ja")
    try:
        assert render_table(("module", "state"), [("rag", "x")]).splitlines()[0] == "モジュール  状態"
    finally:
        LOCALE.reset(token)
