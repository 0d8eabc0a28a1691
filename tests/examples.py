"""How much of a property a run tries: a third of its examples, or all of them by `make test-all`.

`make test` leaves the slow tests out. `.ci/run` takes them with the same examples as `make test`, since equal examples
are drawn in each run of a CI: what all of them would find beyond the third is for a run by hand.
"""

import os

SLOW_TESTS = "MCPIST_TESTS_SLOW"  # set by tests/running.py where the slow tests run as well; workers inherit it
ALL_EXAMPLES = "MCPIST_TESTS_ALL_EXAMPLES"  # set by `make test-all`


def has_slow_tests() -> bool:
    """Whether this run has the slow tests as well."""
    return SLOW_TESTS in os.environ


def examples(count: int, *, quick: int = 0) -> int:
    """Return the number of examples of this run; `quick` is that of `make test` and CI where a third is too much."""
    return count if ALL_EXAMPLES in os.environ else quick or max(count // 3, 10)
