import pytest
from hypothesis import example, given, settings

from mcpist.markdown.normal_form import MAX_NESTING, normalize
from mcpist.markdown.reader import read
from mcpist.markdown.tree import (
    Block,
    Blocks,
    Break,
    Heading,
    Image,
    Item,
    List,
    Mention,
    Paragraph,
    Quote,
    Rule,
    Run,
    TableBlock,
    Unsupported,
)
from mcpist.markdown.writer import write
from tests.core.markdown.builders import text
from tests.core.markdown.trees import markdown, runs, trees
from tests.examples import examples

MANY = settings(max_examples=examples(150), deadline=None)


@given(runs)
@example((text("a"), text(" ", "code", link="b")))
@example((text("a"), text("b", "strong"), text("(c)", "strong", "strike")))
@example((text("a ", "strong"), text("b", "strong", "emphasis"), text(" c", "emphasis")))
@MANY
def test_runs_read_back_in_their_normal_form(runs: tuple[Run, ...]) -> None:
    tree = (Paragraph(runs),)
    assert read(write(tree)) == normalize(tree)


@given(trees)
@MANY
def test_a_tree_reads_back_in_its_normal_form(tree: Blocks) -> None:
    assert read(write(tree)) == normalize(tree)
    assert normalize(normalize(tree)) == normalize(tree)


@given(markdown)
@example("[<aa:b>](c)")
@example("![" * 50 + "](a)" * 50)
@MANY
def test_any_text_is_stable_once_it_was_read_and_written(markdown: str) -> None:
    once = write(read(markdown))
    assert write(read(once)) == once
    assert read(once) == read(markdown)


NORMAL: dict[tuple[Run, ...], tuple[Run, ...]] = {
    (text("a", "strong"), text(""), text("b", "strong")): (text("ab", "strong"),),
    (text(" a\r\n\tb\n\n"),): (text("a"), Break(), text("b")),
    (text("a \n b "),): (text("a"), Break(), text("b")),
    (text(" a ", "strong"), text("b")): (text("a", "strong"), text(" b")),
    (text("a", "strong"), text(" ", "strong", "strike"), text("b", "strong")): (text("a b", "strong"),),
    (text("a", link="b"), text(" ", link="b"), text("c")): (text("a", link="b"), text(" c")),
    (text(" a ", "code"),): (text(" a ", "code"),),
    (text("@a", link="mention:b%20c"),): (Mention("b c", "a"),),
    (Mention("", "a"), text("b", link=" c\n")): (text("@a"), text("b", link="c")),
    (Image(" a\nb", " c\n d "),): (Image("ab", "c d"),),
    (Break(), text("a\0\f\x7f")): (text("a\ufffd \ufffd"),),
}  # fmt: skip


@pytest.mark.parametrize(("runs", "kept"), NORMAL.items())
def test_the_normal_form_is_what_markdown_can_hold(runs: tuple[Run, ...], kept: tuple[Run, ...]) -> None:
    assert normalize((Paragraph(runs),)) == (Paragraph(kept),)


def test_blocks_that_hold_nothing_are_not_in_the_normal_form() -> None:
    nothing = Paragraph((text(" "), Break()))
    assert normalize((nothing, List(()), TableBlock(((), ())), Quote((nothing,)))) == (Quote(()),)


def test_a_paragraph_of_one_lost_is_that_lost() -> None:
    assert normalize((Paragraph((text(" "), Unsupported("a -->\n b"))),)) == (Unsupported("a -- b"),)


def test_numbers_are_brought_into_their_bounds_and_rows_to_one_length() -> None:
    a = (text("a"),)
    assert normalize((Heading(9, a), List((Item(()),), -1), TableBlock((((a,)), (a, a))))) == (
        Heading(6, a), List((Item(()),), 0), TableBlock(((a, ()), (a, a))),
    )  # fmt: skip


def test_what_is_nested_too_deep_stands_in_what_it_is_nested_in() -> None:
    block: Block = List((Item((Paragraph((text("a"),)), Rule())),))
    for _ in range(MAX_NESTING):
        block = Quote((block,))
    (kept,) = normalize((block,))
    for _ in range(MAX_NESTING - 1):
        assert isinstance(kept, Quote)
        (kept,) = kept.blocks
    assert kept == Quote((Paragraph((text("a"),)), Rule()))
    assert read(write((block,))) == normalize((block,))


@pytest.mark.parametrize("levels", range(MAX_NESTING // 2 - 1, MAX_NESTING // 2 + 2))
@pytest.mark.parametrize("inside", [List((Item(()),)), Quote(())])
def test_the_deepest_lists_read_back(levels: int, inside: Block) -> None:
    a = Paragraph((text("a"),))
    for _ in range(levels):
        inside = List((Item((a, inside)), Item((a,))))
    assert read(write((inside,))) == normalize((inside,))
