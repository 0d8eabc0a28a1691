from collections.abc import Iterator
from itertools import count, islice

import pytest

from mcpist.polling import Polling


class VirtualTime:
    """A clock that only sleeping advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def polling(time: VirtualTime) -> Polling:
    return Polling(1, 4, growth=2, clock=time.clock, sleep=time.sleep)


@pytest.fixture
def numbers() -> Iterator[int]:
    return count(1)


def test_delays_grow_up_to_their_maximum(polling: Polling) -> None:
    assert list(islice(polling.delays(), 5)) == [1, 2, 4, 4, 4]


def test_a_value_that_is_done_is_not_read_again(polling: Polling, time: VirtualTime, numbers: Iterator[int]) -> None:
    assert polling.wait(0, lambda _: True, numbers.__next__, 60) == 0
    assert (time.now, next(numbers)) == (100, 1)


def test_a_value_is_read_until_it_is_done(polling: Polling, time: VirtualTime, numbers: Iterator[int]) -> None:
    assert polling.wait(0, lambda value: value == 3, numbers.__next__, 60) == 3
    assert time.now == 107


def test_the_last_value_is_returned_before_a_delay_would_reach_the_deadline(
    polling: Polling, time: VirtualTime, numbers: Iterator[int]
) -> None:
    assert polling.wait(0, lambda _: False, numbers.__next__, 7) == 2
    assert time.now == 103
