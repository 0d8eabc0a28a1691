import subprocess
import sys
from collections import Counter

import pytest

from mcpist.markdown.reader import read
from mcpist.markdown.tree import (
    Block,
    Blocks,
    Break,
    Code,
    Heading,
    Image,
    List,
    Mention,
    Paragraph,
    Quote,
    Rule,
    Run,
    TableBlock,
    TextRun,
    Unsupported,
)
from mcpist.markdown.writer import write
from tests.core.markdown.builders import item, paragraph, text
from tests.faults import for_each


def runs(markdown: str) -> tuple[Run, ...]:
    (block,) = read(markdown)
    assert isinstance(block, Paragraph)
    return block.runs


BLOCKS: dict[str, Blocks] = {
    "": (),
    " \n\t\n": (),
    "a\nb": (paragraph("a b"),),
    "# a #": (Heading(1, (text("a"),)),),
    "a\n---": (Heading(2, (text("a"),)),),
    "######": (Heading(6, ()),),
    "***": (Rule(),),
    "> a\n> > b\n\n>": (Quote((paragraph("a"), Quote((paragraph("b"),)))), Quote(())),
    "```c++ x\n a\n\n```": (Code(" a\n", "c++ x"),),
    "    a\n\n      b": (Code("a\n\n  b"),),
    "~~~\n```\n~~~": (Code("```"),),
    "```\n```": (Code(""),),
    "- a\n- b": (List((item("a"), item("b"))),),
    "- a\n* b": (List((item("a"),)), List((item("b"),))),
    "7) a\n8) b": (List((item("a"), item("b")), 7),),
    "0. a": (List((item("a"),), 0),),
    "-\n- a": (List((item(), item("a"))),),
    "1. a\n\n   b\n   - c\n     ```\n     d\n     ```": (
        List((item("a", "b", List((item("c", Code("d")),))),), 1),
    ),
    "- [ ] a\n- [x] b\n- [X]\n- [y] c": (
        List((item("a", done=False), item("b", done=True), item(done=True), item("[y] c"))),
    ),
    "1. [x] a\n   - [ ] b": (List((item("a", List((item("b", done=False),)), done=True),), 1),),
    "[ ] a": (paragraph("[ ] a"),),
    "- # [ ] a": (List((item(Heading(1, (text("[ ] a"),))),)),),
    "<!-- not carried: a b -->": (Unsupported("a b"),),
}  # fmt: skip


@for_each("markdown", list(BLOCKS))
def test_blocks_are_read(markdown: str) -> None:
    assert read(markdown) == BLOCKS[markdown]


RUNS: dict[str, tuple[Run, ...]] = {
    "**a** *b* __c__ _d_ ~~e~~ `f`": (
        text("a", "strong"), text(" "), text("b", "emphasis"), text(" "), text("c", "strong"), text(" "),
        text("d", "emphasis"), text(" "), text("e", "strike"), text(" "), text("f", "code"),
    ),
    "***a* b**": (text("a", "strong", "emphasis"), text(" b", "strong")),
    "**~~_`a`_~~**": (text("a", "strong", "strike", "emphasis", "code"),),
    "**a **b** c**": (text("a b c", "strong"),),
    "[a **b**](c)": (text("a ", link="c"), text("b", "strong", link="c")),
    "**[a](b)**": (text("a", "strong", link="b"),),
    "<https://a.b/ä%20?c=d>": (text("https://a.b/ä%20?c=d", link="https://a.b/ä%20?c=d"),),
    "<a@b.c>": (text("a@b.c", link="mailto:a@b.c"),),
    "[a](javascript:b)": (text("a", link="javascript:b"),),
    "[a](<b c> )": (text("a", link="b c"),),
    "[a](b_(c))": (text("a", link="b_(c)"),),
    "[a]\n\n[a]: b": (text("a", link="b"),),
    "![a **b**](c)": (Image("c", "a b"),),
    "a\\\nb  \nc<br/>d": (text("a"), Break(), text("b"), Break(), text("c"), Break(), text("d")),
    "[@Ada L.](mention:a%2Fb%29)": (Mention("a/b)", "Ada L."),),
    "[<https://a.b> c](d)": (text("https://a.b c", link="d"),),
    "[a <bb:c>](mention:1)": (Mention("1", "a bb:c"),),
    "[*ada*](mention:1)": (Mention("1", "ada"),),
    "<mention:1>": (Mention("1"),),
    "[a](mention:)": (text("a", link="mention:"),),
    "a **<!-- not carried: *b* -->**": (text("a "), Unsupported("*b*")),
    "&amp;&#32;&copy;\\*": (text("& ©*"),),
    "2 * 3 snake_case": (text("2 * 3 snake_case"),),
    "** a ** _ b": (text("** a ** _ b"),),
}  # fmt: skip


@for_each("markdown", list(RUNS))
def test_runs_are_read(markdown: str) -> None:
    assert runs(markdown) == RUNS[markdown]


@pytest.mark.parametrize(
    "markdown", ["これは**「強調」**です", "**重要。**次に", "MCP**『仮』**は", "*『a』*と~~「b」~~を"]
)
def test_marks_open_and_close_beside_east_asian_text(markdown: str) -> None:
    assert "*" not in "".join(run.text for run in runs(markdown) if isinstance(run, TextRun))


@pytest.mark.parametrize("markdown", ["foo**(bar)**baz", "a*\"b\"*c", "文_「文」_文"])  # fmt: skip
def test_elsewhere_marks_open_and_close_as_in_commonmark(markdown: str) -> None:
    assert runs(markdown) == (text(markdown),)


LITERAL = [
    "<div>a</div>", "a <b>c</b>", "<!-- a -->", "[^1]", "[^1]: a", "[^1]: a b", "[a]: b", "[a]: b 'c'", "[a][b]",
    "![a]", "$$a_b$$", "==a==", ":::note", "<!-- not carried: a", "\\<br>",
    "\\<!-- not carried: a -->", "https://a.b", "~a~",
]  # fmt: skip


@for_each("markdown", list(LITERAL))
def test_what_the_tree_cannot_hold_is_literal_text(markdown: str) -> None:
    assert runs(markdown) == (text(markdown.replace("\\", "").replace("'", '"')),)


def test_definitions_that_are_not_used_or_stand_twice_are_literal_text() -> None:
    assert read("[A]: b\n[a]: c\n[d]: e\n\n[a]") == (
        paragraph("[a]: c"),
        paragraph("[d]: e"),
        paragraph(text("A".lower(), link="b")),
    )


def test_a_title_stands_behind_what_it_entitles() -> None:
    assert runs('[a](b "c\nd") ![e](f \'g\')') == (
        text("a", link="b"), text(" (c d) "), Image("f", "e"), text(" (g)"),
    )  # fmt: skip


def test_a_link_without_text_shows_its_address() -> None:
    assert runs("[![a](b)](c)[](d)") == (Image("b", "a"), text("c", link="c"), text("d", link="d"))


TABLES = {
    "| a | b |\n|:--|--:|\n| c |\n| d | e | f |": [["a", "b"], ["c", ""], ["d", "e | f"]],
    "a|b\n-|-\n`c\\|d`|\\|": [["a", "b"], ["c|d", "|"]],
    "> - | a |\n>   |---|\n>   | b | c |": [["a"], ["b | c"]],
}


@pytest.mark.parametrize("markdown", TABLES)
def test_a_row_of_a_table_is_as_long_as_its_head_and_loses_nothing(markdown: str) -> None:
    block: Block = read(markdown)[0]
    while isinstance(block, Quote | List):
        block = block.blocks[0] if isinstance(block, Quote) else block.items[0].blocks[0]
    assert isinstance(block, TableBlock)
    rows = [["".join(run.text for run in cell if isinstance(run, TextRun)) for cell in row] for row in block.rows]
    assert rows == TABLES[markdown]


def test_a_line_break_in_a_cell_is_a_tag() -> None:
    assert read("| a |\n|---|\n| b<br>c |") == (
        TableBlock((((text("a"),),), ((text("b"), Break(), text("c")),))),
    )  # fmt: skip


def test_control_characters_do_not_get_into_text() -> None:
    assert runs("a\0b\x01c\x0cd\te\r\nf\ud800") == (text("a\ufffdb\ufffdc d\te f\ufffd"),)
    assert read("```\r\na\0\x0c\t\r\n```") == (Code("a\ufffd\x0c\t"),)


DEEP = {
    "quotes": ">" * 10_000 + "a",
    "bullets": "- " * 10_000 + "a",
    "brackets": "[" * 10_000 + "a",
    "images": "![" * 3_000 + "a" + "](b)" * 3_000,
    "marks": "*a **b " * 5_000 + "c** d*" * 5_000,
    "indents": "\n".join("  " * depth + "- a" for depth in range(300)),
}


@pytest.mark.parametrize("markdown", DEEP.values(), ids=DEEP)
def test_however_deep_a_text_is_nested_nothing_of_it_is_lost(markdown: str) -> None:
    assert write(read(markdown)).count("a") == markdown.count("a")


PROSE = "The **quick** `fox` [jumps](http://a.b/c) 2 * 3.\n\n- a\n  - b\n\n| a | b |\n|---|---|\n| c | d |\n\n"
LONG = {
    "prose": PROSE, "brackets": "[a](", "marks": "*a **b ", "ticks": "` `` ``` ", "tags": "<!-- not carried: ",
    "autolinks": "<aa:", "references": "&#1", "spaces": "   ", "breaks": "a\\\n", "quotes": "> a\n", "labels": "[a\n",
}  # fmt: skip


QUICK = ("prose", "brackets", "marks")


@pytest.mark.parametrize(
    "pattern",
    [pytest.param(LONG[name], id=name, marks=() if name in QUICK else pytest.mark.slow) for name in LONG],
)
def test_the_work_for_a_text_does_not_grow_with_its_square(pattern: str) -> None:
    short, long = (_calls(pattern * (length // len(pattern)) + "a") for length in (250, 2_000))
    assert long < 16 * short  # eightfold, and something for what begins late; a square would be 64


def _calls(text: str) -> int:
    """The functions that are called for a text: equal in every run, as seconds are not."""
    called = Counter[str]()
    sys.setprofile(lambda _, event, __: called.update([event]))
    try:
        write(read(text))
    finally:
        sys.setprofile(None)
    return called["call"] + called["c_call"]


def test_references_cannot_blow_a_text_up() -> None:
    markdown = f"[a]: {'b' * 10_000}\n\n{'[a] ' * 10_000}"
    assert len(write(read(markdown))) < 2 * len(markdown)


def test_the_tree_and_its_writer_do_without_the_parser() -> None:
    script = "import sys, mcpist.markdown.tree, mcpist.markdown.writer; sys.exit('markdown_it' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
