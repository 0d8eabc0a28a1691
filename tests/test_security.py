"""docs/security.md promises nothing without a test and without a patch that breaks it."""

import ast
import re

import yaml

from tests.faults import for_each
from tests.mutations.patches import PAGE, ROOT, Patch, Promise, patches, promises

TESTS = ROOT / "tests"


def test_every_promise_names_its_test_and_its_patch() -> None:
    rows = re.findall(r"(?m)^\| .*`[\w/]+\.py::.*\|$", (ROOT / PAGE).read_text("utf-8"))
    assert len(rows) == len(promises()) > 120


@for_each("promise", {promise.text: promise for promise in promises()})
def test_the_test_of_a_promise_exists(promise: Promise) -> None:
    file, _, name = promise.test.partition("::")
    assert re.search(rf"(?m)^def {name}\(", (TESTS / file).read_text("utf-8")), f"{file} has no {name}"


def test_each_patch_breaks_a_promise_and_each_promise_has_one() -> None:
    assert {promise.patch for promise in promises()} == set(patches())


@for_each("patch", patches())
def test_a_patch_applies(patch: Patch) -> None:
    for file, text in patch.apply(ROOT).items():
        assert text != (ROOT / file).read_text("utf-8")
        if file.endswith(".py"):
            ast.parse(text)
        if file.endswith(".yaml"):
            assert yaml.compose(text, yaml.CSafeLoader)
