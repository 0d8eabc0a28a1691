import os
import sys
import threading

import pytest

from infra.bench.processes import Change, Sample, busy, change, sample, sampling

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


def samples(*rss_kb: int, every: float = 1.0, cpu: float = 1.0) -> list[Sample]:
    """A process that is sampled from the first moment on."""
    return [Sample(number * every, rss, 5, 1, number * cpu) for number, rss in enumerate(rss_kb)]


def test_the_last_quarter_is_held_against_the_second_and_the_first_is_warming_up() -> None:
    found = change(samples(10, 50, 100, 100, 100, 100, 103, 103), "rss_kb", began=0.0, ended=8.0)
    assert found == Change(100, 103)
    assert found.growth == pytest.approx(0.03)


def test_a_process_that_came_too_late_tells_nothing() -> None:
    late = samples(100, 100, 100, 100, 100, 100, 100, 100)[3:]
    assert change(late, "rss_kb", began=0.0, ended=8.0) is None


def test_a_process_that_ended_early_tells_nothing() -> None:
    assert change(samples(100, 100, 100, 100), "rss_kb", began=0.0, ended=8.0) is None


def test_the_busy_ones_did_at_least_an_equal_share_of_the_work() -> None:
    hard, some, none = samples(1, 1, cpu=5.0), samples(1, 1, cpu=2.0), samples(1, 1, cpu=0.0)
    assert busy([hard, some, none]) == [hard]
    assert busy([some, some]) == [some, some]
    assert busy([]) == []


@on_linux
def test_a_process_is_seen_as_it_is() -> None:
    before = sample(os.getpid(), 1.0)
    held = [os.pipe() for _ in range(10)]
    after = sample(os.getpid(), 2.0)
    for pair in held:
        for end in pair:
            os.close(end)
    assert after.files == before.files + 20
    assert after.rss_kb > 1_000
    assert after.cpu >= before.cpu > 0
    assert (after.at, after.threads) == (2.0, threading.active_count())


@on_linux
def test_processes_are_sampled_while_they_live() -> None:
    seen_twice = threading.Event()
    rounds = iter(range(10**6))

    def pids() -> dict[str, int]:
        if next(rounds) == 2:
            seen_twice.set()
        return {"me": os.getpid(), "gone": 2**22 + 1}

    with sampling(pids, 0.001) as found:
        assert seen_twice.wait(10)
    assert len(found["me"]) >= 2
    assert "gone" not in found
