import os
import sys
import threading

import pytest

from infra.bench.processes import Change, Sample, change, sample, sampling

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


def samples(*rss_kb: int, after: int = 0) -> list[Sample]:
    """A process that is sampled each second after some."""
    return [Sample(after + number, rss, 5, 1) for number, rss in enumerate(rss_kb)]


def test_the_last_quarter_is_held_against_the_second_and_the_first_is_warming_up() -> None:
    found = change([samples(10, 50, 100, 100, 100, 100, 103, 103)], "rss_kb", began=0.0, ended=8.0)
    assert found == Change(100, 103)
    assert found.growth == pytest.approx(0.03)


def test_who_warms_up_late_comes_up_to_the_others_and_only_a_leak_goes_beyond() -> None:
    warm, late = samples(*[100] * 8), samples(10, 10, 10, 10, 10, 10, 99, 99)
    assert change([warm, late], "rss_kb", began=0.0, ended=8.0) == Change(100, 100)
    leak = samples(10, 10, 60, 60, 60, 60, 140, 140)
    assert change([warm, leak], "rss_kb", began=0.0, ended=8.0) == Change(100, 140)


def test_processes_that_were_not_there_in_both_quarters_tell_nothing() -> None:
    assert change([samples(100, 100, 100, 100)], "rss_kb", began=0.0, ended=8.0) is None
    assert change([samples(100, 100, after=6)], "rss_kb", began=0.0, ended=8.0) is None
    assert change([], "rss_kb", began=0.0, ended=8.0) is None


@on_linux
def test_a_process_is_seen_as_it_is() -> None:
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
    assert after.rss_kb > 1_000
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
