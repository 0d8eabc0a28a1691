from typing import Any

from mcpist.batch.language.references import EachElement, NoResult, StepResult
from mcpist.batch.language.steps import holds, is_about_element, is_equal_json, parse_condition
from mcpist.render.shows import shows
from tests.faults import for_each

SOURCES: dict[str, Any] = {
    "a": StepResult(
        {"n": 1, "no": None, "f": False, "zero": 0, "s": "", "t": "x", "l": [], "o": {"k": [1]}},
        shows("n"),
        lambda: {"path": "files/acme/uma/1"},
    ),
    "none": NoResult(),
    "each": EachElement({"state": "open"}),
}


def truth(written: Any) -> bool:
    return holds(parse_condition(written), SOURCES.__getitem__)


@for_each(
    ("path", "exists", "filled"),
    [
        ("a.n", True, True),
        ("a.zero", True, True),
        ("a.t", True, True),
        ("a.o", True, True),
        ("a.items", True, True),
        ("a.f", True, False),
        ("a.s", True, False),
        ("a.l", True, False),
        ("a.no", False, False),
        ("a.x.y", False, False),
        ("a.l[0]", False, False),
        ("a.file", True, True),
        ("none", False, False),
        ("none.items", True, False),
        ("each.state", True, True),
    ],
)
def test_exists_and_not_empty_hold_for_the_right_values(path: str, exists: bool, filled: bool) -> None:
    reference = "${" + path + "}"
    assert truth({"exists": reference}) is exists
    assert truth({"not_empty": reference}) is filled
    assert truth(reference) is filled


@for_each(
    ("path", "value", "same"),
    [
        ("a.n", 1, True),
        ("a.n", 1.0, True),
        ("a.n", True, False),
        ("a.n", "1", False),
        ("a.no", None, True),
        ("a.o", {"k": [1]}, True),
        ("a.o", {"k": [1, 2]}, False),
        ("a.o", {"k": [True]}, False),
        ("a.nothing", None, False),
        ("none", None, True),
        ("each.state", "open", True),
        ("a.t", "${each.state}", False),
    ],
)
def test_equals_compares_as_json(path: str, value: Any, same: bool) -> None:
    assert truth({"equals": ["${" + path + "}", value]}) is same


def test_values_of_extreme_depth_can_be_compared() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert not is_equal_json(deep, [[[1]]])


def test_conditions_about_the_element_and_about_the_step_are_distinguished() -> None:
    assert is_about_element({"equals": ["${a.n}", "${each.id}"]})
    assert not is_about_element({"equals": ["${a.n}", "$${each.id}"]})
