import json
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.cli.document import CommandDocument, CommandResult
from infra.cli.table import render_table
from mcpist.visible_text import visible

HOSTILE = [
    *("\x1b]0;title\x07", "\x9b31m", "a\nfake  enabled"),
    *("\u202eevil", "\u200bzero", "\u2066isolate", "\U000e0041tag"),
]


@pytest.mark.parametrize("text", ["rename an issue", "課題を更新", "Ünïcödé", "👩\u200d💻 ❤\ufe0f"])
def test_writing_of_any_language_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_hidden_characters_are_written_by_their_numbers() -> None:
    assert visible("a\x1b[2J\nb\u202e") == r"a\u{1B}[2J\u{0A}b\u{202E}"
    assert visible("a\nb", lines=True) == "a\nb"


@given(st.text())
def test_a_visible_text_is_one_line_without_control_characters(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in shown)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_cannot_add_a_row_or_steer_a_terminal(text: str) -> None:
    table = render_table(("tool", "state"), [(text, "new")])
    assert len(table.splitlines()) == 2
    assert table.replace("\n", "").isprintable()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_document_steers_no_terminal_and_stays_the_same_json(text: str) -> None:
    out = StringIO()
    CommandDocument("mcpist upstream tools", out=out).succeed(CommandResult(metadata={"name": text}))
    assert out.getvalue().removesuffix("\n").isprintable()
    assert json.loads(out.getvalue())["metadata"] == {"name": text}
