"""A definition is parsed once, and each execution has a program of its own."""

import json

import pytest
from moto.stepfunctions.parser.asl.parse.asl_parser import ASLParserException

from infra.local.definition_trees import ParseTrees


def definition(*names: str) -> str:
    states = {name: {"Type": "Pass", "End": True} for name in names}
    return json.dumps({"StartAt": names[0], "States": states})


def test_the_same_text_has_the_same_tree_and_another_program() -> None:
    trees = ParseTrees()
    (first, tree), (second, again) = trees.parse(definition("A")), trees.parse(definition("A"))
    assert tree is again
    assert first is not second
    assert type(first) is type(second)
    assert first.start_at.start_at_name == second.start_at.start_at_name == "A"
    assert trees.parse(definition("B"))[0].start_at.start_at_name == "B"


def test_only_the_last_trees_are_kept() -> None:
    trees = ParseTrees(max_trees=1)
    tree = trees.parse(definition("A"))[1]
    trees.parse(definition("B"))
    assert trees.parse(definition("A"))[1] is not tree


def test_an_invalid_definition_is_refused_each_time() -> None:
    trees = ParseTrees()
    for _ in range(2):
        with pytest.raises(ASLParserException):
            trees.parse('{"StartAt": "A", "States": ')
