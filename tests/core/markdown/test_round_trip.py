from hypothesis import given, settings

from mcpist.markdown.normal import normal
from mcpist.markdown.read import read
from mcpist.markdown.tree import Blocks, Paragraph, Run
from mcpist.markdown.write import write
from tests.core.markdown.trees import markdown, runs, trees

import os

MANY = settings(max_examples=int(os.environ.get("N", 200)), deadline=None)


@given(runs)
@MANY
def test_runs_read_back_in_their_normal_form(runs: tuple[Run, ...]) -> None:
    tree = (Paragraph(runs),)
    assert read(write(tree)) == normal(tree)


@given(trees)
@MANY
def test_a_tree_reads_back_in_its_normal_form(tree: Blocks) -> None:
    assert read(write(tree)) == normal(tree)


@given(trees)
@MANY
def test_the_normal_form_of_a_normal_tree_is_itself(tree: Blocks) -> None:
    assert normal(normal(tree)) == normal(tree)


@given(markdown)
@MANY
def test_any_text_is_stable_after_it_was_read_and_written_once(text: str) -> None:
    once = write(read(text))
    assert write(read(once)) == once
    assert read(once) == read(text)
