"""Patches that remove a defence, and the promises of docs/security.md that name them."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent, indent

ROOT = Path(__file__).parents[2]
PAGE = "docs/security.md"
FIELDS = {"file", "lines", "becomes"}
OPTIONAL_FIELDS = {"hangs"}
PROMISE = re.compile(r"^\| (?P<text>.+) \| `(?P<test>[\w/]+\.py::test_\w+)` \| `(?P<patch>\w+)` \|$", re.MULTILINE)


class PatchDoesNotApply(Exception):
    """The lines of a patch are not exactly once in their file."""


@dataclass(frozen=True, slots=True)
class Change:
    """Lines of a file, and the lines that replace them; their common indentation does not count."""

    file: str
    lines: str
    becomes: str
    hangs: bool = False
    """Whether work never ends without the defence, so that a test which does not end is proof."""

    def apply(self, text: str) -> str:
        """Return the text of the file with its lines replaced."""
        source = text.split("\n")
        wanted = _block(self.lines)
        starts = [number for number, line in enumerate(source) if line.strip() == wanted[0].strip()]
        found = [start for start in starts if _block("\n".join(source[start : start + len(wanted)])) == wanted]
        if len(found) != 1:
            raise PatchDoesNotApply(f"{self.file} has these lines {len(found)} times, not once:\n{self.lines}")
        (start,) = found
        margin = source[start].removesuffix(wanted[0])
        replacement = indent("\n".join(_block(self.becomes)), margin).split("\n")
        return "\n".join([*source[:start], *replacement, *source[start + len(wanted) :]])


@dataclass(frozen=True, slots=True)
class Patch:
    """The removal of one defence, in all of its layers."""

    name: str
    changes: tuple[Change, ...]

    @property
    def hangs(self) -> bool:
        """Whether a test that does not end in time shows that the defence is gone."""
        return any(change.hangs for change in self.changes)

    def apply(self, root: Path) -> dict[str, str]:
        """Return the changed files' texts by path; PatchDoesNotApply if the source is no longer as the patch says."""
        texts: dict[str, str] = {}
        for change in self.changes:
            text = texts.get(change.file) or (root / change.file).read_text("utf-8")
            texts[change.file] = change.apply(text)
        return texts


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of the page: a promise, the test that holds it and the patch that breaks it."""

    text: str
    test: str
    patch: str


@cache
def patches() -> dict[str, Patch]:
    """Return all patches by their names."""
    found = [patch for file in sorted(Path(__file__).parent.glob("*.toml")) for patch in _read(file)]
    by_name = {patch.name: patch for patch in found}
    assert len(by_name) == len(found), "two patches have the same name"
    return by_name


@cache
def promises() -> tuple[Promise, ...]:
    """Return the rows of the page."""
    return tuple(Promise(**row.groupdict()) for row in PROMISE.finditer((ROOT / PAGE).read_text("utf-8")))


def tests_by_patch() -> dict[str, list[str]]:
    """Return the tests of the promises that each patch breaks."""
    tests: dict[str, list[str]] = defaultdict(list)
    for promise in promises():
        if promise.test not in tests[promise.patch]:
            tests[promise.patch].append(promise.test)
    return tests


def _read(file: Path) -> Iterator[Patch]:
    for name, changes in tomllib.loads(file.read_text("utf-8")).items():
        for change in changes:
            assert set(change) - OPTIONAL_FIELDS == FIELDS, f"{file.name}: {name} has {sorted(change)}"
        yield Patch(name, tuple(Change(**change) for change in changes))


def _block(text: str) -> list[str]:
    """Return lines without their common indentation and without empty lines around them."""
    return dedent(text).strip("\n").split("\n")
