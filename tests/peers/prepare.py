"""Install what others wrote and tests drive, before the time of the tests is measured."""

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest

from tests.peers import npm, pypi

TESTS = Path(__file__).parents[1]


def main() -> None:
    """Install everything that is locked beside the tests; say what cannot be had, whose tests then skip or fail."""
    locks = [lock for lock in sorted(TESTS.rglob("package-lock.json")) if "node_modules" not in lock.parts]
    with ThreadPoolExecutor() as beside:  # the registries are waited for at the same time
        attempts = (
            beside.submit(attempt, npm.modules, [lock.parent for lock in locks]),
            beside.submit(attempt, pypi.programs, get_args(pypi.Kind.__value__)),
        )
    for done in attempts:
        done.result()


def attempt[Place](install: Callable[[Place], Path], places: Iterable[Place]) -> None:
    for place in places:
        try:
            install(place)
        except (pytest.skip.Exception, AssertionError, OSError) as error:
            print(f"{place} is not installed: {error}", file=sys.stderr)  # noqa: T201 - for who runs make


if __name__ == "__main__":
    main()
