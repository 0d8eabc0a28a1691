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


def test_delays_grow_while_a_value_stays_the_same(polling: Polling, time: VirtualTime) -> None:
    values = iter([0, 0, 0, 3])
    assert polling.wait(0, lambda value: value == 3, values.__next__, 60) == 3
    assert time.now == 111


def test_delays_begin_anew_when_a_value_has_changed(
    polling: Polling, time: VirtualTime, numbers: Iterator[int]
) -> None:
    assert polling.wait(0, lambda value: value == 3, numbers.__next__, 60) == 3
    assert time.now == 103


def test_a_value_is_not_read_before_it_can_be_done(polling: Polling, time: VirtualTime) -> None:
    values = iter([3, 2, 1])
    seconds = {0: 2.5, 3: 60, 2: 0, 1: 0}
    assert polling.wait(0, lambda value: value == 1, values.__next__, 60, seconds.__getitem__) == 1
    assert time.now == 100 + 2.5 + 4 + 1


def test_the_last_value_is_returned_before_a_delay_would_reach_the_deadline(
    polling: Polling, time: VirtualTime
) -> None:
    assert polling.wait(0, lambda _: False, lambda: 0, 7) == 0
    assert time.now == 103
