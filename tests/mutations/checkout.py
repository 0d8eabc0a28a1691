"""A scratch copy of the checkout, in which a patch is applied and tests are run."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.mutations.breaks import Break
from tests.mutations.patches import Patch

TEST_SECONDS = 300  # of a whole deployment on a loaded machine
HANGING_TEST_SECONDS = 60
PASSED, FAILED, SKIPPED = "passed", "failed", "was skipped"
BROKEN, MISSING, HANGING = "broke without an assertion", "did not run", "did not end in time"
# The outcome of a test with several cases is the last of these that one of them has.
RANKS = (PASSED, SKIPPED, BROKEN, FAILED)
# A patch that does not fit its file any more fails like this, and proves nothing.
ACCIDENTS = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "UnboundLocalError")
FOLDERS = ("functions", "layers/core", "layers/services", "")
FAILURE = re.compile(r"^(?:FAILED|ERROR) ([^ \[]+)", re.MULTILINE)  # without the case, whose name may be of any text
# What make and tests install once: the scratch copy uses that of the checkout.
INSTALLED = (".tools", "tests/peers/node_modules", "tests/peers/.venv", "tests/roles/node_modules")


class Checkout:
    """A copy of all tracked and new files."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.folder = folder
        self._mtimes = count(1_000_000_000)  # bytecode is found by the time of its source, in whole seconds
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=source,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (source / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, folder / name)
        for name in INSTALLED:
            if (source / name).exists():
                (folder / name).symlink_to(source / name)

    @contextmanager
    def patched(self, patch: Patch | Break) -> Iterator[None]:
        """Have the patch applied while the context lasts."""
        before = {file: (self.folder / file).read_text("utf-8") for file in patch.apply(self.folder)}
        self._write(patch.apply(self.folder))
        try:
            yield
        finally:
            self._write(before)

    def outcomes(self, tests: Sequence[str], seconds: float = TEST_SECONDS) -> dict[str, str]:
        """Run tests, named by file and function, within so many seconds each, and return the outcome of each."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        try:
            named = [f"tests/{test}" for test in tests]
            self._pytest("-m", "", f"--junitxml={report}", *named, timeout=seconds * len(tests))
        except subprocess.TimeoutExpired:
            return dict.fromkeys(tests, HANGING)
        ranks = dict.fromkeys(tests, -1)
        for case in ET.parse(report).iter("testcase") if report.exists() else ():  # noqa: S314 - pytest wrote it
            if (name := _name(case)) in ranks:
                ranks[name] = max(ranks[name], RANKS.index(_outcome(case)))
        return {test: RANKS[rank] if rank >= 0 else MISSING for test, rank in ranks.items()}

    def first_failure(self, tests: Sequence[str], seconds: float, without: Collection[str] = ()) -> str:
        """Run the quick tests of files until one fails, and return its name; an empty text if all pass."""
        try:
            printed = self._pytest("-x", "-rfE", *tests, *(f"--deselect={test}" for test in without), timeout=seconds)
        except subprocess.TimeoutExpired:
            return HANGING
        return next(iter(FAILURE.findall(printed)), "")

    def failures(self, tests: Sequence[str], seconds: float) -> set[str]:
        """Run tests, and return those that fail."""
        return set(FAILURE.findall(self._pytest("-rfE", *tests, timeout=seconds))) if tests else set()

    def _pytest(self, *arguments: str, timeout: float) -> str:
        """Return what pytest prints."""
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(str(self.folder / name) for name in FOLDERS)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=timeout,
            check=False,
        ).stdout

    def _write(self, texts: dict[str, str]) -> None:
        for file, text in texts.items():
            (self.folder / file).write_text(text, "utf-8")
            moment = next(self._mtimes)
            os.utime(self.folder / file, (moment, moment))


def _name(case: ET.Element) -> str:
    """Return the file and the function of a test's case."""
    path, function = case.get("classname", "").removeprefix("tests.").replace(".", "/"), case.get("name", "")
    return f"{path}.py::{function.partition('[')[0]}"


def _outcome(case: ET.Element) -> str:
    failure = case.find("failure")
    if failure is not None:
        return BROKEN if failure.get("message", "").startswith(ACCIDENTS) else FAILED
    return BROKEN if case.find("error") is not None else SKIPPED if case.find("skipped") is not None else PASSED
