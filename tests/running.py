"""How the suite runs: the order of its files, what one worker runs as a whole, and what a run took.

Two tiers: `make test` is for every change and stays under the bounds below; `.ci/run` also runs the tests marked as
slow, and `make test-all` tries all examples of each besides. A test is slow if it takes seconds and repeats, on a
larger scale or by another way in, what a quick one shows: whatever a test proves alone stays quick.
"""

import gc
import os
import random
import re
import resource
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from _pytest.assertion import rewrite
from _pytest.assertion.rewrite import assertstate_key
from xdist.scheduler import LoadFileScheduling

from tests.examples import SLOW_TESTS, examples

TESTS = Path(__file__).parent
ROOT = TESTS.parent
BOUND = "make test: 5 min on two cores, 8 min of CPU"
STARTED = time.monotonic()
# Servers and whole stacks as processes, and no AWS: these need no process without a deployment, so they fill what it
# leaves at the end.
LAST = (
    ROOT / "tests/upstreams",
    ROOT / "tests/test_built_layers.py",
    *(ROOT / f"tests/whole/test_{name}.py" for name in ("interrupted", "readme", "restart")),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order-seed", type=int, help="run the files in a random order, which this number repeats")


def pytest_configure(config: pytest.Config) -> None:
    """Tell tests whether the slow ones run as well, and look for garbage less often."""
    if not config.option.markexpr:
        os.environ[SLOW_TESTS] = "yes"
    # A loaded machine is no failure, and what is taken must not depend on the dice.
    hypothesis.settings.register_profile(
        "steady", deadline=None, derandomize="CI" in os.environ, max_examples=examples(100)
    )
    hypothesis.settings.load_profile("steady")
    # A fifth of the CPU went into looking through objects that live as long as the process.
    gc.set_threshold(100_000, 20, 20)
    if hasattr(config, "workerinput") and "tests" in config.args and not sys.dont_write_bytecode:
        rewrite_share(config)


def rewrite_share(config: pytest.Config) -> None:
    """Rewrite this worker's share of the files of tests for the others, each of which would rewrite all: 16 s of CPU.

    What is rewritten is kept, so this is work of the first run alone.
    """
    worker = config.workerinput  # type: ignore[attr-defined]
    state, files = config.stash[assertstate_key], list[Path]()
    for folder, folders, names in TESTS.walk():
        folders[:] = sorted(set(folders) - {"node_modules", ".venv"})
        files += [folder / name for name in sorted(names) if re.fullmatch(r"(test_.*|conftest)\.py", name)]
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        kept = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        kept.parent.mkdir(parents=True, exist_ok=True)
        if rewrite._read_pyc(file, kept) is None:
            source, code = rewrite._rewrite_test(file, config)
            rewrite._write_pyc(state, code, source, kept)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the files with tests of whole deployments last, those of the usual one before those with their own.

    A deployment lasts until a test needs another one, and beside it no test of the same process may mock AWS.
    """
    files = {path: number for number, path in enumerate(dict.fromkeys(item.path for item in items))}
    if (seed := config.option.order_seed) is not None:
        places = list(files.values())
        random.Random(seed).shuffle(places)  # noqa: S311 - an order, no secret
        files = dict(zip(files, places, strict=True))
    ranks: Counter[Path] = Counter()
    for item in items:
        ranks[item.path] = max(ranks[item.path], deployment_rank(item))
    items.sort(key=lambda item: (ranks[item.path], files[item.path]))


def deployment_rank(item: pytest.Item) -> int:
    """The place of a test: no deployment, the usual one, one of its own, and the LAST."""
    if is_last(item.path):
        return 3
    if "deployment" not in getattr(item, "fixturenames", ()):
        return 0
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return 2 if "deployment" in params else 1


@cache
def is_last(file: Path) -> bool:
    """Whether a file runs last: a question of a tenth of a millisecond, asked for 8,000 tests."""
    return any(map(file.is_relative_to, LAST))


def pytest_collection_finish() -> None:
    gc.freeze()


class Scheduling(LoadFileScheduling):
    """A worker takes a file at a time, or all files that share the usual deployment, which starts once for them."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return usual_deployment(file) or file

    def schedule(self) -> None:
        """Give out files, twice to a worker that starts late: it keeps its last test until it hears of the next."""
        for _ in range(2):
            super().schedule()

    def remove_node(self, node: Any) -> str | None:
        """Take what a worker has not run when it dies, but for the test in which it died.

        xdist itself would run that test again in each new worker, and wait for ever for a file of one test.
        """
        files = self.assigned_work.pop(node)
        crashed = next((test for file in files.values() for test, is_done in file.items() if not is_done), None)
        if crashed is not None:
            files[self._split_scope(crashed)][crashed] = True
            self.workqueue.update({name: tests for name, tests in files.items() if not all(tests.values())})
            for other in self.assigned_work:
                self._reschedule(other)
        return crashed


@cache
def usual_deployment(file: str) -> str:
    """The deployment of tests that take the one that no file has for itself; empty for other files.

    Tests in a browser take longer than all others of them, and have one for themselves, so that two workers share them.
    """
    source = (ROOT / file).read_text("utf-8") if file.startswith("tests/whole/") else ""
    if "built(" in source or not re.search(r"\b(deployment: LocalDeployment|McpUser)\b", source):
        return ""
    return "the usual deployment, in a browser" if "chromium" in source else "the usual deployment"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each reason for which tests were skipped, which says how to have what they need, and the time.

    Workers and what they started are this process's children, and have ended.
    """
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped"))
    for reason, count in reasons.items():
        terminalreporter.write_line(f"SKIPPED {count} tests: {reason}")
    own, others = (resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = [used.ru_utime + used.ru_stime for used in (own, others)]
    terminalreporter.write_line(
        f"took {clock(time.monotonic() - STARTED)} and {clock(sum(cpu))} of CPU: "
        f"{clock(cpu[0])} in this process, {clock(cpu[1])} in its children ({BOUND})"
    )


def clock(seconds: float) -> str:
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s" if seconds >= 60 else f"{seconds:.1f} s"
