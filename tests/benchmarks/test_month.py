"""The price of a month without requests."""

import pytest

from benchmarks.month import FORMER, OFF, ON, YEARLY, audit_table, usage
from benchmarks.prices import dollars
from infra.local.template import read_template
from infra.source import ROOT

MAX_IDLE_DOLLARS = 10


LOGIN = {"Issuer": "https://login.example.com", "LoginClientId": "mcpist"}


def price(**parameters: str) -> float:
    return sum(dollars(usage(parameters)).values())


def test_an_idle_month_costs_less_than_ten_dollars_by_default_and_cost_more_before() -> None:
    assert price() < MAX_IDLE_DOLLARS < sum(dollars(FORMER).values())
    # Also while the metrics of a little used stack are written in every hour.
    assert price() + sum(dollars({"metric_month": 5}).values()) < MAX_IDLE_DOLLARS


@pytest.mark.parametrize(
    ("switch", "difference"),
    [
        ("SnapStart=off", -3.90),
        ("Alarms=off", -0.10 * usage({})["alarm_month"]),
        ("Dashboard=on", 3.00),
        ("ServiceLevels=on", 3.00),
        ("AuditExport=siem", 0.10),
    ],
)
def test_each_switch_changes_the_price_as_the_page_says(switch: str, difference: float) -> None:
    name, _, value = switch.partition("=")
    assert price(**{name: value}) - price() == pytest.approx(difference, abs=0.01)


def test_each_function_with_a_snapshot_costs_the_same() -> None:
    everyone = read_template(ROOT / "template.yaml", {**LOGIN, "SnapStart": "all"}).functions
    others = sum(one.snap_start for one in everyone) - 1
    assert others >= 3
    assert price(SnapStart="all") - price() == pytest.approx(3.90 * others, abs=0.01)


def test_everything_off_leaves_the_keys() -> None:
    assert price(**OFF) == pytest.approx(3.00)
    assert price(**ON) > price() > price(**OFF)


def test_an_idle_month_costs_less_than_ten_dollars_until_the_keys_rotate_after_seven_years() -> None:
    by_year = [sum(dollars(usage({}, years=year)).values()) for year in (1, 3, 7, 8, 15, 30)]
    assert max(by_year[:3]) == price() < MAX_IDLE_DOLLARS < by_year[3]
    assert [one - price() for one in by_year[3:]] == pytest.approx([2.00, 4.00, 4.00]), "two rotations of two keys"


def test_two_rotations_of_a_key_are_billed_like_keys() -> None:
    more = [sum(dollars(usage(YEARLY, years=years)).values()) - price() for years in (1, 2, 3)]
    assert more == pytest.approx([2.00, 4.00, 4.00])


def test_audit_rows_are_priced_over_their_life_with_their_copies() -> None:
    head, _, stored, backed_up = audit_table().splitlines()
    assert "kept 400 days" in head
    gigabytes = [float(line.split("|")[2]) for line in (stored, backed_up)]
    assert gigabytes[0] == pytest.approx(3 * gigabytes[1], rel=0.01), (
        "the table and two indexes, of which one is backed up"
    )
