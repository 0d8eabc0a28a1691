"""One test over many cases: all faults are named, and nothing is lost of what a test by itself would show."""

import pytest

from tests.faults import for_each


def test_all_faults_are_reported_with_their_case_place_and_reason() -> None:
    @for_each("number, limit", {"small": (1, 2), "big": (5, 2), "none": (None, 2)})
    def check(number: int, limit: int) -> None:
        assert number < limit, f"{number} is over {limit}"

    with pytest.raises(AssertionError) as caught:
        check()
    head, big, none = str(caught.value).splitlines()[:1] + [
        line for line in str(caught.value).splitlines() if line.startswith(("big", "none"))
    ]
    assert head == "2 of 3 cases fail:"
    assert big.startswith("big (test_faults.py:")
    assert "5 is over 2" in big
    assert "TypeError: '<' not supported" in none
    assert "small" not in str(caught.value)


def test_cases_that_fail_alike_are_named_together() -> None:
    @for_each("number", {"big": 5, "small": 1, "bigger": 5})
    def check(number: int) -> None:
        assert number < 2, "it is too big"

    with pytest.raises(AssertionError, match=r"\nbig, bigger \(test_faults.py:\d+\): it is too big"):
        check()


def test_what_should_raise_and_does_not_is_a_fault() -> None:
    @for_each("name", ["a"])
    def check(name: str) -> None:
        with pytest.raises(ValueError, match=name):
            pass

    with pytest.raises(AssertionError, match="1 of 1 cases fail"):
        check()


def test_a_defect_of_the_code_is_no_fault_of_a_case() -> None:
    @for_each("name", ["a"])
    def check(name: str) -> None:
        raise NameError(name)

    with pytest.raises(NameError):
        check()


@pytest.mark.parametrize("base", [10])
@for_each("number", [1, 2])
def test_fixtures_and_other_parameters_reach_every_case(number: int, base: int, tmp_path: object) -> None:
    assert number < base
    assert tmp_path


@pytest.mark.parametrize(("cases", "reason"), [([], "without cases"), (["a", "a"], "the same name")])
def test_cases_that_prove_nothing_are_refused(cases: list[str], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        for_each("name", cases)


def test_a_test_that_does_not_take_a_case_is_refused() -> None:
    with pytest.raises(AssertionError, match="takes no"):
        for_each("name", ["a"])(lambda: None)
