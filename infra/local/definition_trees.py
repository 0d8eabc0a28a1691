"""Parse trees of state machines, kept by the definition's text.

moto parses a definition when its machine is created and at each start of an execution, at seconds of CPU for a large
one; only what it makes of the tree belongs to one execution.
"""

from collections import OrderedDict
from threading import Lock
from typing import Any

from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor

MAX_TREES = 16

_parse = AmazonStateLanguageParser.parse


class ParseTrees:
    """The trees of the definitions that were parsed last."""

    def __init__(self, max_trees: int = MAX_TREES) -> None:
        self._max_trees = max_trees
        self._trees: OrderedDict[str, Any] = OrderedDict()
        self._lock = Lock()

    def parse(self, definition: str) -> tuple[Any, Any]:
        """Return the program and the tree of a definition, as moto's parser does, and raise its errors."""
        with self._lock:
            tree = self._trees.get(definition)
        if tree is not None:
            return Preprocessor().visit(tree), tree
        program, tree = _parse(definition)
        with self._lock:
            self._trees[definition] = tree
            while len(self._trees) > self._max_trees:
                self._trees.popitem(last=False)
        return program, tree


def install() -> None:
    """Let moto keep trees, in this process."""
    AmazonStateLanguageParser.parse = ParseTrees().parse  # type: ignore[method-assign]
