from benchmarks.report import missed
from benchmarks.saturation import MAX_P95_MS, Stage, is_saturated, rows


def stage(clients: int, answers: int, milliseconds: float, errors: int = 0) -> Stage:
    return Stage(clients, 10.0, [milliseconds] * answers, errors)


def test_stages_end_where_more_clients_bring_no_more_answers() -> None:
    assert not is_saturated([stage(1, 100, 50)])
    assert not is_saturated([stage(1, 100, 50), stage(2, 180, 60)])
    assert is_saturated([stage(1, 100, 50), stage(2, 102, 100)])


def test_stages_end_at_an_error_or_a_slow_percentile() -> None:
    assert is_saturated([stage(1, 100, MAX_P95_MS + 1)])
    assert is_saturated([stage(1, 100, 50, errors=1)])
    assert is_saturated([stage(1, 0, 0)])


def test_the_figure_is_of_the_fastest_stage_within_the_bound() -> None:
    found = list(rows([stage(1, 100, 50), stage(2, 180, 60), stage(4, 300, MAX_P95_MS + 1)]))
    assert found[1] == ("2 clients without pauses", "18.0 a second, 95th percentile 60 ms, 0 errors", "")
    assert found[-1][1] == "18.0"
    assert missed(found) == []


def test_a_deployment_that_is_too_slow_misses_the_bound() -> None:
    (problem,) = missed(rows([stage(1, 100, MAX_P95_MS + 1)]))
    assert problem == "requests a second at a 95th percentile under 1,000 ms: 0.0, and the bound is 5 or more"
