import os
import sys
import threading

import pytest

from benchmarks.processes import Change, Sample, change, sample, sampling

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


def samples(*memory_kb: int, after: int = 0) -> list[Sample]:
    """Return a process's samples, one a second after a delay."""
    return [Sample(after + number, rss, 5, 1) for number, rss in enumerate(memory_kb)]


def test_the_last_quarter_is_compared_with_the_second() -> None:
    found = change([samples(10, 50, 100, 100, 100, 100, 103, 103)], "memory_kb", began=0.0, ended=8.0)
    assert found == Change(100, 103)
    assert found.growth == pytest.approx(0.03)


def test_a_process_that_warms_up_late_does_not_count_as_growth() -> None:
    warm, late = samples(*[100] * 8), samples(10, 10, 10, 10, 10, 10, 99, 99)
    assert change([warm, late], "memory_kb", began=0.0, ended=8.0) == Change(100, 100)
    leak = samples(10, 10, 60, 60, 60, 60, 140, 140)
    assert change([warm, leak], "memory_kb", began=0.0, ended=8.0) == Change(100, 140)


def test_processes_without_samples_in_both_quarters_are_left_out() -> None:
    assert change([samples(100, 100, 100, 100)], "memory_kb", began=0.0, ended=8.0) is None
    assert change([samples(100, 100, after=6)], "memory_kb", began=0.0, ended=8.0) is None
    assert change([], "memory_kb", began=0.0, ended=8.0) is None


@on_linux
def test_a_process_is_sampled() -> None:
    before, done = sample(os.getpid(), 1.0), threading.Event()
    held = [os.pipe() for _ in range(10)]
    thread = threading.Thread(target=done.wait)
    thread.start()
    after = sample(os.getpid(), 2.0)
    done.set()
    thread.join()
    for pair in held:
        for end in pair:
            os.close(end)
    assert after.files == before.files + 20
    assert after.memory_kb > 1_000
    assert (after.at, after.threads) == (2.0, before.threads + 1)


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
