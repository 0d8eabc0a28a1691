import pytest
from pydantic import ValidationError

from mcpist.running.options import DEFAULT_OPTIONS, RunOptions


def test_by_default_a_request_has_thirty_seconds_and_no_retry() -> None:
    assert (DEFAULT_OPTIONS.timeout, DEFAULT_OPTIONS.retry, DEFAULT_OPTIONS.retry_delay) == (30, 0, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": 0.5},
        {"timeout": 31},
        {"timeout": float("nan")},
        {"retry": -1},
        {"retry": 4},
        {"retry": 1.5},
        {"retry_delay": -1},
        {"retry_delay": 11},
        {"retries": 1},
    ],
)
def test_what_is_out_of_bounds_or_unknown_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        RunOptions(**wrong)


def test_each_pause_is_longer_and_no_two_are_in_step() -> None:
    options = RunOptions(retry_delay=2)
    for retries, least in enumerate((2, 4, 8)):
        pauses = {options.backoff(retries) for _ in range(50)}
        assert len(pauses) > 1
        assert all(least <= pause <= least * 1.5 for pause in pauses)
