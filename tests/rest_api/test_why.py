"""Why a tool can or cannot be used, by REST."""

from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Role, Subject
from mcpist.people import directory
from tests import members
from tests.rest_api.fake_broker import GRANT, FakeBroker
from tests.rest_api.rest_client import RestClient


@pytest.fixture
def eve(organization: str, login: LocalLogin, rest: RestClient) -> RestClient:
    """A person whose role has a module without its tools that write."""
    members.put_role(organization, Role("readers", ("github",), deny=("github.get_*",)))
    members.put_user(organization, "eve", name="Eve", subject=Subject(login.issuer, "eve"), roles=["readers"])
    return rest.of("eve")


def why(rest: RestClient, tool: str, **query: Any) -> dict[str, Any]:
    answer = rest.get("/v1/why", tool=tool, **query)
    assert answer.status == 200
    found: dict[str, Any] = answer.json
    return found


@pytest.mark.parametrize("tool", ["github.get_issue", "rag.list_tags", "github.merge_pull", "github.nothing"])
def test_a_person_learns_the_first_no_which_a_call_gets_and_no_role(eve: RestClient, tool: str) -> None:
    found = why(eve, tool)
    refused = next(one for one in found["decisions"] if one["verdict"] == "no")
    assert refused["name"] == found["firstNo"]
    module, _, name = tool.partition(".")
    called = eve.post("/v1/tools/call", {"name": tool}).json
    if name != "nothing":
        assert refused["code"] == called["code"] == "AUTHORIZATION_ERROR"
        assert refused["changedBy"] == "administrator"
    assert (found["module"], found["usable"], found["roles"], found["disabledBy"]) == (module, False, [], "")
    assert "readers" not in str(found)


def test_an_administrator_sees_the_rules_of_another_users_roles(eve: RestClient, organization: str) -> None:
    members.put_organization(organization, name="Acme", disabled=["github.get_i*"])
    directory.access_cache.clear()
    found = why(eve.of("ada"), "github-get-issue", user="eve")
    assert (found["user"], found["firstNo"], found["disabledBy"]) == ("eve", "mask", "github.get_i*")
    assert found["roles"] == [{"role": "readers", "rule": "deny", "mask": "github.get_*"}]


def test_an_administrator_sees_which_account_of_another_user_would_act(eve: RestClient) -> None:
    broker = FakeBroker()
    missing = why(eve.of("ada"), "github.list_issues", user="eve")
    assert (missing["firstNo"], missing["usable"]) == ("account", False)
    assert {message["operation"] for message in broker.messages} == {"list"}
    broker.grants = [GRANT]
    assert why(eve.of("ada"), "github.list_issues", user="eve")["account"] == "eve"


def test_another_users_decisions_are_an_administrators_only(eve: RestClient) -> None:
    assert eve.get("/v1/why", tool="github.get_issue", user="ada").json["code"] == "AUTHORIZATION_ERROR"
    assert eve.of(None).get("/v1/why", tool="github.get_issue").status == 401
    assert eve.of("ada").get("/v1/why", tool="github.get_issue", user="nobody").json["code"] == "USER_NOT_FOUND"
    assert eve.get("/v1/why", tool="github").json["code"] == "VALIDATION_ERROR"
    assert eve.get("/v1/why").json["code"] == "VALIDATION_ERROR"


def test_a_broker_that_is_down_leaves_the_account_open(eve: RestClient) -> None:
    FakeBroker().answers["resolve"] = lambda _: {}
    found = why(eve, "github.list_issues")
    assert (found["usable"], found["firstNo"]) == (None, "")
    assert [one["verdict"] for one in found["decisions"][-2:]] == ["open", "open"]
