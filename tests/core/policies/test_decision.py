"""Policies: what they decide of known arguments, of unknown ones, and of what cannot be evaluated."""

from dataclasses import replace
from typing import Any

import pytest

from mcpist.caller import Policies
from mcpist.policies import decision
from mcpist.policies.decision import TOO_SLOW, Verdict
from mcpist.policies.place import StepPlace
from mcpist.running.policy import facts_of, judge
from mcpist.tools.access.permissions import Permissions
from tests.core.sample import CATALOGUE, EVERYTHING, caller

BASE = '@id("base") permit (principal, action, resource);'
SHOP = CATALOGUE.module("shop")
CREATE = 'principal, action == Action::"shop.create_item", resource'
TEXT = f"""
{BASE}
@id("small") @message("Only small things.") forbid ({CREATE}) unless {{ context.args.size == "small" }};
@id("dear") @ask forbid ({CREATE}) when {{ context.args.price.greaterThan(decimal("100.0")) }};
@id("vip") @approve forbid (principal, action in Action::"writes", resource)
when {{ context.args has tags && context.args.tags.contains("vip") }};
"""


def verdict(text: str, tool: str = "create_item", /, **use: Any) -> Verdict:
    permissions = Permissions(replace(caller(EVERYTHING), policies=Policies(1, text)), CATALOGUE)
    unresolved, place = use.pop("unresolved", {}), use.pop("place", None)
    (found,) = judge(
        permissions, [facts_of(permissions, SHOP, SHOP.tools[tool], use, unresolved=unresolved, place=place)]
    )
    return found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"price": 3}, "permit: base"),
        ({"price": 3, "size": "big"}, "refuse: small"),
        ({"price": 100.5}, "ask: dear"),
        ({"price": 100.5, "tags": ["vip"]}, "approve: vip"),
        ({"price": 100.5, "tags": ["vip"], "size": "big"}, "refuse: small"),
        ({"price": 3, "size": None}, "permit: base"),  # null is the default
    ],
)
def test_the_strictest_policy_that_holds_decides(arguments: dict[str, Any], expected: str) -> None:
    assert verdict(TEXT, name="a", **arguments).text == expected


@pytest.mark.parametrize(
    ("arguments", "unknown", "expected"),
    [
        ({"price": 3}, {"size": "${x.size}"}, Verdict("permit", depends_on=("${x.size}",))),
        ({}, {"price": "${x.p}"}, Verdict("ask", "dear", "", ("${x.p}",))),
        ({"price": 3}, {"tags": "${x.t}"}, Verdict("approve", "vip", "", ("${x.t}",))),
        ({"price": 3}, {"name": "${x.n}"}, Verdict("permit", "base")),  # no policy looks at it
        ({"price": 3, "size": "big"}, {"tags": "${x.t}"}, Verdict("refuse", "small", "Only small things.")),
        ({"price": 200, "tags": ["vip"]}, {"name": "${x.n}"}, Verdict("approve", "vip")),
    ],
)
def test_what_depends_on_a_reference_is_undecided_and_says_on_which(
    arguments: dict[str, Any], unknown: dict[str, str], expected: Verdict
) -> None:
    found = verdict(TEXT, **arguments, unresolved=unknown)
    assert (found.level, found.depends_on) == (expected.level, expected.depends_on)
    assert expected.rule in {"", found.rule}


def test_an_optional_argument_that_may_turn_out_to_be_absent_is_not_taken_for_present() -> None:
    text = f'{BASE} @id("named") forbid ({CREATE}) unless {{ context.args has tags }};'
    assert verdict(text, price=1, tags=["a"]).level == "permit"
    assert verdict(text, price=1).level == "refuse"
    assert verdict(text, price=1, unresolved={"tags": "${x.t}"}).depends_on == ("${x.t}",)


@pytest.mark.parametrize(
    ("text", "arguments", "problem"),
    [
        (
            f'{BASE} @id("far") forbid ({CREATE}) when {{ context.args.price == decimal("1.0") }};',
            {"price": 1e30},
            "large",
        ),
        (
            f'{BASE} @id("sum") forbid ({CREATE}) when {{ context.recent.writes + 9223372036854775807 < 0 }};',
            {"price": 1, "place": StepPlace(True, writes=(1, 1))},
            "",
        ),
        (f'{BASE} @id("tag") forbid ({CREATE}) when {{ context.args has tags }};', {"price": 1, "tags": "x"}, "tags"),
    ],
    ids=["a number out of range", "an overflow", "another type"],
)
@pytest.mark.usefixtures("aws")
def test_what_cannot_be_evaluated_is_refused(text: str, arguments: dict[str, Any], problem: str) -> None:
    found = verdict(text, name="a", **arguments)
    assert found.level == "refuse" or found.depends_on
    assert problem in found.problem


def test_a_number_that_cedar_does_not_take_is_refused_also_beside_an_unknown_argument() -> None:
    condition = (
        'context.args has limit && context.args.limit > 9 && context.args has query && context.args.query == "x"'
    )
    text = f'{BASE} @id("many") forbid (principal, action, resource) when {{ {condition} }};'
    for unknown in ({}, {"query": "${x.q}"}):
        found = verdict(text, "list_items", limit=10**30, unresolved=unknown)
        assert (found.level, found.depends_on) == ("refuse", ())
        assert found.problem


def test_what_no_policy_permits_is_refused_even_where_a_person_could_be_asked() -> None:
    text = f'@id("reads") permit (principal, action in Action::"reads", resource); @id("q") @ask forbid ({CREATE});'
    assert verdict(text, name="a", price=1) == Verdict("refuse")
    assert verdict(text, "get_item", item_id="1").text == "permit: reads"


def test_data_of_one_label_does_not_reach_a_target_of_another() -> None:
    leak = (
        f'{BASE} @id("leak") forbid (principal, action in Action::"writes", resource)'
        ' when { context.labels.contains("customer") && context.target.contains("public") };'
    )
    labelled = Policies(1, leak, labels=("shop.get_*=customer", "shop.create_item=public"))
    permissions = Permissions(replace(caller(EVERYTHING), policies=labelled), CATALOGUE)

    def flow(source: str, tool: str = "create_item") -> str:
        use = facts_of(permissions, SHOP, SHOP.tools[tool], {}, place=StepPlace(True, frozenset({source})))
        return judge(permissions, [use])[0].text

    assert flow("shop.get_item") == "refuse: leak"
    assert flow("shop.list_items") == "permit: base"
    assert flow("shop.get_item", "delete_item") == "permit: base"


def test_the_domains_of_addresses_among_the_arguments_are_known() -> None:
    text = f'{BASE} @id("out") forbid ({CREATE}) unless {{ ["our.example"].containsAll(context.domains) }};'
    assert verdict(text, name="Ada <ada@OUR.example>", price=1).text == "permit: base"
    assert verdict(text, name="a@our.example, b@other.example", price=1).text == "refuse: out"
    for name in ("a@our.example@other.example", '"a@our.example"@other.example', "<a@other.example> (Ada)"):
        assert verdict(text, name=name, price=1).text == "refuse: out", name
    assert verdict(text, name="see https://x/@y and write to a@other.example please", price=1).text == "permit: base"
    assert verdict(text, price=1, unresolved={"name": "${x.n}"}).depends_on == ("${x.n}",)


def test_a_text_of_blanks_is_searched_for_addresses_once() -> None:
    text = f'{BASE} @id("out") forbid ({CREATE}) unless {{ ["our.example"].containsAll(context.domains) }};'
    blanks = " \t" * 300_000
    assert verdict(text, name=f"a@our.example{blanks}b@other.example", price=1).text == "refuse: out"
    assert verdict(text, name=f"a@our.example{blanks}b", price=1).text == "permit: base"


def test_a_use_about_which_deciding_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = f'{BASE} @id("slow") forbid ({CREATE}) when {{ context.args.name like "x*{"a" * 10_000}b*" }};'
    assert verdict(slow, name="a" * 1_000, price=1).text == "permit: base"
    assert verdict(slow, name="a" * 60_000, price=1) == Verdict("refuse", problem=TOO_SLOW)
    monkeypatch.setattr(decision, "MAX_DECISION_SECONDS", 0.0)
    assert verdict(TEXT, name="a", price=1).text == "permit: base"
    assert verdict(TEXT, price=1, unresolved={"size": "${x.s}"}) == Verdict("refuse", problem=TOO_SLOW)


def test_what_cedar_does_not_take_at_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no")

    for name in ("is_authorized_batch", "is_authorized_partial"):
        monkeypatch.setattr(f"cedarpy.{name}", fail)
    assert verdict(TEXT, name="a", price=1).problem == "no"
    assert verdict(TEXT, price=1, unresolved={"size": "${x.s}"}).problem == "no"
