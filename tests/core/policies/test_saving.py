"""Saving policies: all that is wrong with them is found before they hold."""

from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from mcpist.caller import Policies, Role, Subject
from mcpist.errors import InvalidPolicies, PolicyRefused
from mcpist.people.organization import Organization, User
from mcpist.policies import saving
from mcpist.policies.saving import check, require_change
from mcpist.tools.access.effects import permissions
from mcpist_services.catalogue import CATALOGUE as SERVICES
from mcpist_services.policy_templates import templates
from tests.core.sample import CATALOGUE, caller

ADA = User("ada", "Ada", Subject("https://login.example.com", "ada"), "admin")
ACME = Organization("acme", "Acme", users={"ada": ADA}, roles={"dev": Role("dev")})
BASE = '@id("base") permit (principal, action, resource);'
SOURCE = permissions(ACME, CATALOGUE).catalogue


def rule(head: str = "principal, action, resource", end: str = "") -> str:
    return f'{BASE} @id("r") forbid ({head}) {end};'


def create(condition: str) -> str:
    return rule('principal, action == Action::"shop.create_item", resource', f"when {{ {condition} }}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1 to 100"),
        ("permit (", "end of input"),
        ("permit (principal, action, resource);", "needs an id"),
        (BASE + BASE, "two policies"),
        (f"//{'x' * 1_000_000}", "30,000 characters"),
        (create(f"{'(' * 14_000}true{')' * 14_000}"), "policy 2 has more than 300 operators"),
        (create("context has " + "a." * 10_000 + "b"), "policy 2 has more than 300 operators"),
        (create(f'true // "\r{"(" * 10_000}true{")" * 10_000}'), "policy 2 has more than 300 operators"),
        (create(f'"\\"" == "x" && {"[" * 10_000}{"]" * 10_000} == 1'), "policy 2 has more than 300 operators"),
        ('@id("t") permit (principal == ?principal, action, resource);', "?principal"),
        (f'{BASE} @id("x") @asks forbid (principal, action, resource);', "no annotation @asks"),
        ('@id("x") @ask permit (principal, action, resource);', "before a forbid"),
        (rule('principal, action == Action::"shop.creat_item", resource'), "unrecognized action"),
        (create('context.args has pric && context.args.pric == "1"'), 'an argument "pric"'),
        (create('context.args.name == "x" && context.moon'), "moon"),
        (create('context.args.tags.contains("x")'), "optional attribute"),
        (create("context.args.name > 3"), "Long"),
        (rule('principal, action, resource in Service::"shp"'), 'no Service::"shp"'),
        (rule('principal in Role::"devs", action, resource'), 'no Role::"devs"'),
        (rule('principal == User::"eve", action, resource'), 'no User::"eve"'),
        (rule('principal, action, resource == Account::"shp/main"'), "shp/main"),
        (rule('principal, action in Action::"mcpist.*", resource'), "no administrator"),
        ('@id("r") permit (principal, action in Action::"shop.*", resource);', "no administrator"),
        (
            rule(
                'principal, action == Action::"shop.create_item", resource',
                'unless { context.before.contains(Action::"shop.create_item") }',
            ),
            "refers to itself",
        ),
    ],
)
def test_wrong_policies_are_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(InvalidPolicies) as refused:
        check(Policies(0, text), ACME, SOURCE)
    assert problem in str(refused.value)
    assert refused.value.details["field"] == "text"


def test_a_policy_that_is_nested_too_deeply_is_not_parsed() -> None:
    with pytest.raises(InvalidPolicies, match="policy 2 has more than 300 operators"):
        check(Policies(0, create("true && " * 1_400 + "true")), ACME, SOURCE)


def test_what_stands_in_texts_and_comments_is_no_operator() -> None:
    long = "//" + "(" * 400 + "\n" + create(f'context.args.name == "{"(." * 400}"')
    assert list(check(Policies(0, long), ACME, SOURCE).rules) == ["base", "r"]
    most = create("true && " * 290 + "context.batch")
    assert list(check(Policies(0, most), ACME, SOURCE).rules) == ["base", "r"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"time_zone": "Mars/Base"}, "time_zone"),
        ({"time_zone": "../secrets"}, "time_zone"),
        ({"minutes": 1_441}, "minutes"),
        ({"labels": ("shop.*=secret",)}, "labels"),
        ({"labels": ("=public",)}, "labels"),
        ({"labels": ("a.*=public",) * 201}, "labels"),
    ],
)
def test_wrong_settings_are_refused(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidPolicies) as refused:
        check(replace(Policies(0, BASE), **fields), ACME, SOURCE)
    assert refused.value.details["field"] == field


def test_all_templates_together_can_be_saved_in_both_languages() -> None:
    text = "\n".join(one.text for one in templates("en"))
    assert len(check(Policies(0, text), ACME, permissions(ACME, SERVICES).catalogue).rules) == len(templates("ja"))


def test_a_check_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Event()
    monkeypatch.setattr("cedarpy.validate_policies", lambda *_, **__: ended.wait(60))
    monkeypatch.setattr(saving, "MAX_CHECK_SECONDS", 0.01)
    with pytest.raises(InvalidPolicies, match="takes more than"):
        check(Policies(0, BASE), ACME, SOURCE)
    ended.set()


def test_only_whom_the_present_policies_let_changes_them() -> None:
    eve = User("eve", "Eve", Subject("https://login.example.com", "eve"), "admin")
    only_ada = rule('principal, action == Action::"mcpist.policies", resource', 'unless { principal == User::"ada" }')
    organization = replace(ACME, users={"ada": ADA, "eve": eve}, policies=Policies(1, only_ada))
    check(Policies(0, only_ada), organization, SOURCE)
    require_change(replace(caller(), user="ada"), organization)
    with pytest.raises(PolicyRefused):
        require_change(replace(caller(), user="eve"), organization)
