import pytest

from benchmarks.scale import LIMITS, Load, Seen, hot, rows, shares, simulate

SMALL = Load(calls_a_day=100_000, organizations=50)


def test_shares_are_all_calls_and_the_largest_comes_first() -> None:
    for load in (SMALL, Load(organizations=10_000), Load(organizations=1, largest_share=1.0)):
        found = shares(load)
        assert (len(found), sum(found)) == (load.organizations, pytest.approx(1))
        assert found == sorted(found, reverse=True)
    assert shares(Load(organizations=20, largest_share=0.1))[0] > 0.1


def test_one_organization_loads_its_partitions_more_than_many_do() -> None:
    many = {seen.limit.name: seen for seen in simulate(SMALL)}
    alone = {seen.limit.name: seen for seen in simulate(Load(100_000, organizations=1, largest_share=1.0))}
    for limit in (limit for name, limit in LIMITS.items() if name not in {"leases", "ledger"}):
        ratio = alone[limit.name].mean / many[limit.name].mean
        assert ratio > 3 if limit.one_organization else ratio == pytest.approx(1, abs=0.5)


def test_kept_places_of_one_organization_cost_little_at_any_number_of_requests() -> None:
    *kept, beyond = (float(units.replace(",", "")) for _, units in hot())
    assert max(kept) < 1_000 < beyond


def test_the_load_of_a_limit_grows_with_the_calls() -> None:
    few, more = ({seen.limit.name: seen for seen in simulate(Load(calls, 50))} for calls in (100_000, 400_000))
    assert more["API Gateway: requests (10,000)"].mean == pytest.approx(4 * few["API Gateway: requests (10,000)"].mean)


def test_a_row_says_at_how_many_calls_a_limit_is_reached() -> None:
    half = Seen(LIMITS["api"], peak=5_000, mean=1_000)
    nothing = Seen(LIMITS["kms"], peak=0, mean=0)
    assert [row[3:] for row in rows(Load(calls_a_day=10_000_000), [half, nothing])] == [
        ("50.0%", "20.0 million"),
        ("0.0%", "never"),
    ]


def test_a_bucket_that_refills_is_judged_by_its_mean() -> None:
    assert Seen(LIMITS["machines"], peak=3, mean=0.25).used == 0.25
