"""The number of examples that a property is tried on: all by `make test-all`, a third of them by `make test`."""

import os

# Set by conftest.py where the slow tests run as well; workers inherit it.
ALL_EXAMPLES = "MCPIST_TESTS_ALL_EXAMPLES"


def examples(count: int) -> int:
    """Return the number of examples of this run."""
    return count if ALL_EXAMPLES in os.environ else max(count // 3, 10)
