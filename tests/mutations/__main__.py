"""Remove each defence in a scratch copy and demand that the tests of its promise fail: `make mutate`.

Results are kept in .mutations, so that a run that was interrupted continues and one after a change repeats only the
patches whose source, tests or text differ.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from queue import SimpleQueue

from tests.mutations.checkout import FAILED, HANGING, HANGING_TEST_SECONDS, PASSED, TEST_SECONDS, Checkout
from tests.mutations.patches import ROOT, Patch, patches, tests_by_patch

RESULTS = ROOT / ".mutations/results.json"
WORKERS = 2
RED = "red"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the chosen patches; 1 if any promise still holds without its defence."""
    options = _options(arguments)
    chosen = [patch for name, patch in patches().items() if any(fnmatchcase(name, glob) for glob in options.patches)]
    known = {} if options.again else _known_results()
    digests = {patch.name: _digest(patch) for patch in chosen}
    todo = [patch for patch in chosen if known.get(patch.name) != [RED, digests[patch.name]]]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mcpist-mutations-") as folder:
        checkouts = [Checkout(ROOT, Path(folder) / str(number)) for number in range(options.workers)]
        outcomes = {}
        for patch, outcome in _try_all(todo, checkouts):
            outcomes[patch.name] = outcome
            _keep(patch.name, [outcome, digests[patch.name]])
    wrong = {name: outcome for name, outcome in outcomes.items() if outcome != RED}
    for name, outcome in wrong.items():
        print(f"{name}: {outcome}")
    print(
        f"{len(chosen)} patches: {len(outcomes) - len(wrong)} red, {len(chosen) - len(todo)} red before and unchanged,"
        f" {len(wrong)} not red, in {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong or not chosen else 0


def _try_all(todo: Sequence[Patch], checkouts: Sequence[Checkout]) -> Iterator[tuple[Patch, str]]:
    """Yield the outcome of each patch; a test counts only if it passes without any patch."""
    if not todo:
        return
    named = sorted({test for patch in todo for test in tests_by_patch()[patch.name]})
    shares = [named[number :: len(checkouts)] for number in range(len(checkouts))]
    idle: SimpleQueue[Checkout] = SimpleQueue()
    for checkout in checkouts:
        idle.put(checkout)
    with ThreadPoolExecutor(len(checkouts)) as pool:
        passing = dict(chain.from_iterable(result.items() for result in pool.map(Checkout.outcomes, checkouts, shares)))
        yield from zip(todo, pool.map(lambda patch: _attempt(idle, patch, passing), todo), strict=True)


def _attempt(idle: "SimpleQueue[Checkout]", patch: Patch, before: Mapping[str, str]) -> str:
    """Return `red` if each test passes with the defence and fails without it, or what is wrong."""
    began, tests, checkout = time.monotonic(), tests_by_patch()[patch.name], idle.get()
    try:
        if wrong := {test: before[test] for test in tests if before[test] != PASSED}:
            return f"with the defence {_described(wrong)}"
        with checkout.patched(patch):
            after = checkout.outcomes(tests, HANGING_TEST_SECONDS if patch.hangs else TEST_SECONDS)
        proofs = {FAILED, HANGING} if patch.hangs else {FAILED}
        wrong = {test: outcome for test, outcome in after.items() if outcome not in proofs}
        outcome = f"without the defence {_described(wrong)}" if wrong else RED
        print(f"{patch.name:<44} {time.monotonic() - began:5.1f} s  {outcome}", flush=True)
        return outcome
    finally:
        idle.put(checkout)


def _described(outcomes: dict[str, str]) -> str:
    return "; ".join(f"{test} {outcome}" for test, outcome in outcomes.items())


def _known_results() -> dict[str, list[str]]:
    known: dict[str, list[str]] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    return known


def _keep(name: str, result: list[str]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(_known_results() | {name: result}, indent=1), "utf-8")


def _digest(patch: Patch) -> str:
    """Return a hash of the patch, the files that it changes and the tests that must fail."""
    tests = tests_by_patch()[patch.name]
    files = sorted({change.file for change in patch.changes} | {f"tests/{test.partition('::')[0]}" for test in tests})
    parts = [repr(patch), *tests, *((ROOT / file).read_text("utf-8") for file in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("patches", nargs="*", default=["*"], help="names of patches, * allowed; all if none is given")
    parser.add_argument("--again", action="store_true", help="try also the patches that were red and did not change")
    parser.add_argument("--workers", type=int, default=WORKERS, help="the number of patches that are tried at once")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
