"""The number of examples that a property is tried on: all by `make test-all`, a third of them by `make test`."""

import os

# Set by conftest.py where the slow tests run as well; workers inherit it.
ALL_EXAMPLES = "MCPIST_TESTS_ALL_EXAMPLES"


def all_examples() -> bool:
    """Whether this run has the slow tests as well."""
    return ALL_EXAMPLES in os.environ


def examples(count: int, *, quick: int = 0) -> int:
    """Return the number of examples of this run; `quick` is that of `make test` where a third is too much."""
    return count if all_examples() else quick or max(count // 3, 10)
