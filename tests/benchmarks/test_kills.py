import pytest

from benchmarks.kills import KillRun, Write, commands, rows


def run(*writes: Write, errors: tuple[str, ...] = ()) -> KillRun:
    return KillRun(10, 3, 60.0, writes, errors)


def test_endings_that_are_true_are_no_problem() -> None:
    true = [("succeeded", 1), ("unknown", 0), ("unknown", 1), ("failed", 0), ("skipped", 0)]
    assert list(run(*(Write("w", status, times) for status, times in true)).problems()) == []


@pytest.mark.parametrize(
    ("status", "times"),
    [("succeeded", 2), ("unknown", 2), ("succeeded", 0), ("failed", 1), ("skipped", 1), ("cancelled", 0), ("", 1)],
)
def test_a_second_write_an_open_step_and_an_untrue_ending_are_problems(status: str, times: int) -> None:
    (problem,) = run(Write("7.0.first", status, times)).problems()
    assert problem == f"7.0.first is {status or 'open'}, and happened {times} times"


def test_the_rows_count_what_was_lost_and_what_happened_twice() -> None:
    done = run(Write("a", "succeeded", 2), Write("b", "unknown", 1), Write("c", "", 0), errors=("batch 4: lost",))
    assert [seen for _, seen, _ in rows(done)][:4] == ["3 in 1.0 minutes", "2", "1", "1, 1"]


def test_a_batch_notes_names_of_its_own() -> None:
    noted = {step["params"]["name"] for number in (1, 2) for step in commands(number, 0) if "params" in step}  # type: ignore[index]
    assert len(noted) == 4
