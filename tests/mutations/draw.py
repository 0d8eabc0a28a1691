"""Break random lines of the product, and say which breaks no test near them notices.

`python -m tests.mutations.draw --seed 1 --count 60` prints each place with `red` and the first test that fails, or
`green`: there a test is missing, or the broken line means the same. Breaks are tried one after another in a scratch
copy, by the tests of the file's name, of its room, and of what imports it, until one fails.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from tests.mutations.breaks import Break, draw
from tests.mutations.checkout import Checkout
from tests.mutations.patches import ROOT
from tests.mutations.rooms import stages

STAGE_SECONDS = 600


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the drawn breaks; 1 if any is green."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="mcpist-breaks-") as folder:
        checkout = Checkout(ROOT, Path(folder))
        drawn = dict(enumerate(draw(Path(folder), options.seed, options.count), 1))
        left = {number: one for number, one in drawn.items() if number in (options.only or drawn)}
        tried, unsound = len(left), set[str]()
        red: dict[int, str] = {}
        while left:
            found = {number: _failure(checkout, number, one, unsound) for number, one in left.items()}
            # A test that fails without any break proves nothing: its breaks are tried again without it.
            named = sorted({test for test in found.values() if test.startswith("tests/")} - unsound)
            fresh = checkout.failures(named, STAGE_SECONDS * max(1, len(named)))
            red |= {number: test for number, test in found.items() if test and test not in fresh}
            left = {number: left[number] for number, test in found.items() if test in fresh}
            unsound |= fresh
    print(f"seed {options.seed}: {len(red)} red, {tried - len(red)} green of {tried}")
    return 0 if len(red) == tried else 1


def _failure(checkout: Checkout, number: int, one: Break, without: Collection[str]) -> str:
    """Return the first test that fails by a break, as it is printed; an empty text if there is none."""
    began = time.monotonic()
    with checkout.patched(one):
        runs = (checkout.first_failure(tests, STAGE_SECONDS, without) for tests in stages(checkout.folder, one.file))
        failed = next(filter(None, runs), "")
    result = f"red by {failed}" if failed else "GREEN"
    print(f"{number:>3} {time.monotonic() - began:5.1f} s  {one}\n    {result}", flush=True)
    return failed


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.draw", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="equal seeds draw equal places in equal sources")
    parser.add_argument("--count", type=int, default=60, help="how many places are drawn")
    parser.add_argument("--only", type=int, nargs="*", default=[], help="of the drawn ones, try these numbers alone")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
