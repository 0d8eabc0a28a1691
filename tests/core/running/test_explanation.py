"""Why a tool can or cannot be used: the same decisions as a use of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.caller import Proof, Role
from mcpist.errors import (
    AccountError,
    ConnectionRequired,
    McpistError,
    ReconnectRequired,
    ScopeMissing,
    UpstreamUnavailable,
)
from mcpist.running import broker, gate
from mcpist.running.broker import Credential
from mcpist.running.explanation import Explanation, UseDecision, explain, listed_account, with_roles
from mcpist.running.gate import CONFIRMED, AdmittedUse, ToolUse
from mcpist.tools.access.permissions import Permissions
from tests.core.sample import CATALOGUE, EVERYTHING, caller, permissions
from tests.examples import examples

# Weighted, so that every decision is often the first that says no.
ROLES = st.builds(
    Role,
    name=st.sampled_from(("one", "two")),
    modules=st.sampled_from((("shop", "safe"), ("shop", "safe"), ("shop",), ())),
    allow=st.sampled_from((("*",), ("*",), ("shop.*",), ("*.create_*", "safe.*"), ())),
    deny=st.sampled_from(((), (), (), ("shop.get_item",), ("*",))),
    destructive=st.booleans(),
)
DISABLED = st.sampled_from(((), (), (), ("shop",), ("*.get_*",), ("shop.delete_item", "safe.*")))
TOOLS = st.sampled_from(
    (
        *(("shop", name) for name in ("delete_item", "get_item", "get_key", "create_item", "none")),
        *(("shop", "delete_item"), ("safe", "open"), ("none", "get_item")),
    )
)
ACCOUNTS: tuple[McpistError | None, ...] = (
    None,
    ConnectionRequired(service="shop", url="u"),
    ReconnectRequired(service="shop", url="u"),
    ScopeMissing(service="shop", scope="write", url="u"),
)


def account(refusal: McpistError | None) -> Any:
    """Return a finder that finds an account, or raises."""

    def find(_: AdmittedUse) -> str:
        if refusal:
            raise refusal
        return "uma@shop"

    return find


def verdicts(explanation: Explanation) -> list[str]:
    return [step.verdict for step in explanation.steps]


def step(explanation: Explanation) -> UseDecision:
    assert explanation.refusal
    return explanation.refusal


@given(
    st.lists(ROLES, min_size=1, max_size=2, unique_by=lambda role: role.name),
    DISABLED,
    st.booleans(),
    TOOLS,
    st.sampled_from(ACCOUNTS),
)
@hypothesis.settings(max_examples=examples(450))
def test_the_first_no_is_the_refusal_of_the_gate(
    roles: Sequence[Role], disabled: tuple[str, ...], reading: bool, name: tuple[str, str], held: McpistError | None
) -> None:
    whose = Permissions(replace(caller(*roles, disabled=disabled), reading_only=reading), CATALOGUE)
    refused: McpistError | None = None
    try:
        account(held)(gate.permit(whose, ToolUse(*name, {}, "r1")))
    except McpistError as error:
        refused = error
    explanation = explain(whose, *name, find_account=account(held))
    found = explanation.refusal.error if explanation.refusal else None
    assert (type(found), found and found.details) == (type(refused), refused and refused.details)
    # One no at most, nothing but yes before it, and nothing decided after it.
    assert "".join(verdict[0] for verdict in verdicts(explanation)).rstrip("o").rstrip("n").strip("y") == ""
    assert verdicts(explanation).count("no") == (refused is not None)


NO_MODULE = "mcpist role set ROLE --modules ...,shop"


@pytest.mark.parametrize(
    ("role", "disabled", "tool", "name", "actor", "remedy"),
    [
        (Role("r"), (), "shop.get_item", "role", "administrator", NO_MODULE),
        (
            *(Role("r", ("shop",), deny=("*_item*",)), (), "shop.get_key", "role", "administrator"),
            "mcpist role set ROLE --allow ...,shop.get_key",
        ),
        (Role("r", ("shop",), deny=("*",)), (), "shop.get_key", "role", "administrator", NO_MODULE),
        (Role("r", ("shop",)), (), "shop.none", "tool", "you", ""),
        (
            Role("r", ("shop",)),
            (),
            "shop.get_key",
            "mask",
            "administrator",
            "mcpist role set ROLE --allow ...,shop.get_key",
        ),
        (
            *(Role("r", ("shop",), allow=("*",)), (), "shop.delete_item", "destructive", "administrator"),
            "mcpist role set ROLE --destructive",
        ),
        (EVERYTHING, ("shop",), "shop.get_item", "module_switch", "administrator", "mcpist module enable shop"),
        (EVERYTHING, ("*.get_*",), "shop.get_item", "switch", "administrator", "mcpist tool enable shop.get_item"),
        (EVERYTHING, (), "none.get", "module", "you", ""),
    ],
)
def test_a_no_says_who_can_change_it_and_how(
    role: Role, disabled: tuple[str, ...], tool: str, name: str, actor: str, remedy: str
) -> None:
    found = step(explain(permissions(role, disabled=disabled), *tool.split("."), find_account=account(None)))
    assert (found.name, found.actor, found.remedy) == (name, actor, remedy)


def test_a_tool_that_can_be_used_names_its_account_and_that_it_asks_first() -> None:
    explanation = explain(permissions(EVERYTHING), "shop", "delete_item", find_account=account(None))
    assert set(verdicts(explanation)) == {"yes"}
    assert (explanation.account, explanation.asks_first, explanation.refusal) == ("uma@shop", True, None)


def test_an_account_that_cannot_be_found_now_decides_nothing() -> None:
    down = UpstreamUnavailable(service="token broker", problem="it cannot be asked")
    explanation = explain(permissions(EVERYTHING), "shop", "get_item", find_account=account(down))
    assert explanation.refusal is None
    assert [(one.verdict, one.actor) for one in explanation.steps[-2:]] == [("open", "nobody"), ("open", None)]


def test_the_callers_own_account_is_found_as_a_call_finds_it(aws: list[str]) -> None:
    whose = Permissions(replace(caller(EVERYTHING), proof=Proof("jwt", "j.w.t")), CATALOGUE)
    key = ("acme", "uma", ("everything",), "shop", "", ())
    broker.credential_cache.put(key, Credential("t1", "1", "uma@shop", "user#uma", None))
    assert explain(whose, "shop", "get_item").account == "uma@shop"
    assert gate.admit(whose, ToolUse("shop", "delete_item", {"item_id": "7"}, "r1"), CONFIRMED)
    assert aws == []  # it writes no row


def test_only_an_administrator_learns_of_roles_masks_and_entries() -> None:
    reader = Role("reader", ("shop",), deny=("*.get_key",))
    whose = permissions(EVERYTHING, reader, Role("other"), disabled=("*.get_k*",))
    plain = explain(whose, "shop", "get_key", find_account=account(None))
    assert (plain.roles, plain.disabled_by) == ((), "")
    full = with_roles(plain, whose)
    assert [(one.role, one.rule, one.mask) for one in full.roles] == [
        ("everything", "", "*"),
        ("reader", "deny", "*.get_key"),
        ("other", "module", ""),
    ]
    assert full.disabled_by == "*.get_k*"
    assert with_roles(explain(whose, "no", "no", find_account=account(None)), whose).roles == ()


def row(owner: str, **more: Any) -> dict[str, Any]:
    return {
        "owner": owner,
        "label": "main",
        "default": True,
        "services": ["shop"],
        "works": True,
        "open_to": [],
        "scopes": [],
        "account_name": owner,
        **more,
    }


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], ConnectionRequired),
        ([row("user#uma", services=["other"])], ConnectionRequired),
        ([row("role#everything"), row("user#uma")], "user#uma"),
        ([row("role#everything"), row("user#uma", works=False)], ReconnectRequired),
        ([row("role#everything"), row("user#uma", open_to=["other"])], "role#everything"),
        ([row("role#other")], ConnectionRequired),
    ],
)
def test_another_users_account_is_chosen_as_the_broker_does(
    rows: list[dict[str, Any]], found: str | type[AccountError]
) -> None:
    whose = permissions(EVERYTHING, Role("other"))
    explanation = explain(whose, "shop", "get_item", find_account=listed_account(lambda: rows))
    if isinstance(found, str):
        assert explanation.account == found
    else:
        assert isinstance(step(explanation).error, found)
