"""Users, roles, the organization and the audit by REST, with the person's own token."""

import csv
import io
import json
import time
from collections import Counter
from typing import Any

import boto3
import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist.people.organization import User
from mcpist.settings import settings
from mcpist.spending import Spending
from tests import members
from tests.rest_api.fake_broker import GRANT, FakeBroker
from tests.rest_api.rest_client import Answer, RestClient


@pytest.fixture
def ada(rest: RestClient) -> RestClient:
    """The administrator's program."""
    return rest.of("ada")


def rows(ada: RestClient, **filters: Any) -> list[dict[str, Any]]:
    """Return the audit's rows, the newest first."""
    found: list[dict[str, Any]] = ada.get("/v1/audit", **filters).json["rows"]
    return found


def test_a_user_is_added_changed_and_removed(ada: RestClient, login: LocalLogin) -> None:
    new = {"user": "eve", "name": "Eve", "sub": "e-1", "roles": ["members"], "locale": "ja"}
    dry = ada.send("POST", "/v1/users", new, dryRun="true")
    assert (dry.status, dry.json["dry_run"]) == (200, True)
    assert "eve" not in directory.read("acme").users
    made = ada.post("/v1/users", new)
    assert (made.status, made.headers["etag"].removeprefix("W/")) == (201, f'"{made.json["version"]}"')
    assert (made.json["effects"][0]["users"], "rag.get_doc" in made.json["effects"][0]["appear"]) == (["eve"], True)
    assert directory.read("acme").user("eve") == User(
        "eve", "Eve", Subject(login.issuer, "e-1"), "user", ("members",), "ja", "waiting"
    )
    assert ada.get("/v1/users/eve").json["acceptance"] == "waiting"
    assert ada.get("/v1/users/eve").json["subject"] == {"issuer": login.issuer, "sub": "e-1"}
    changed = ada.send("PATCH", "/v1/users/eve", {"roles": [], "system_role": "admin"})
    assert {change["path"] for change in changed.json["changes"]} == {"users.eve.roles", "users.eve.system_role"}
    assert [user["user"] for user in ada.get("/v1/users").json["users"]] == ["ada", "eve", "uma"]
    assert ada.send("DELETE", "/v1/users/eve").status == 200
    assert ada.get("/v1/users/eve").json["code"] == "USER_NOT_FOUND"
    found = [(row["tool"], row["target"], row["before"] is None, row["after"] is None) for row in rows(ada)]
    assert found[1:] == [
        ("users.delete", "users.eve", False, True),
        ("users.update", "users.eve", False, False),
        ("users.create", "users.eve", True, False),
    ]
    assert rows(ada, outcome="USER_NOT_FOUND")[0]["tool"] == "users.read"


def test_a_role_shows_who_would_gain_and_lose_what_before_it_changes(ada: RestClient) -> None:
    assert ada.post("/v1/roles", {"name": "readers", "modules": ["rag"]}).status == 201
    dry = ada.send("PATCH", "/v1/roles/members", {"modules": ["rag"], "allow": ["rag.put_doc"]}, dryRun="true").json
    (effect,) = dry["effects"]
    assert (effect["users"], effect["roles"], effect["appear"]) == (["ada", "uma"], ["members"], ["rag.put_doc"])
    assert "github.get_repository" in effect["vanish"] or any(name.startswith("github.") for name in effect["vanish"])
    assert ada.get("/v1/roles/members").json["users"] == ["ada", "uma"]
    preview = ada.get("/v1/roles/readers/preview", tools="true").json
    assert [module["module"] for module in preview["modules"]] == ["rag"]
    assert preview["modules"][0]["names"]["get_doc"] == "reads"
    assert ada.get("/v1/users/uma/preview").json["tools"] > preview["tools"]
    assert ada.send("DELETE", "/v1/roles/members").json["code"] == "CONFLICT"
    assert ada.send("DELETE", "/v1/roles/readers").status == 200
    assert ada.send("DELETE", "/v1/roles/readers").json["code"] == "ROLE_NOT_FOUND"


def test_a_change_can_demand_the_version_that_was_read(ada: RestClient) -> None:
    tag = ada.get("/v1/roles").headers["etag"]
    conditional = ada.with_headers(if_match=tag)
    assert conditional.send("PATCH", "/v1/roles/members", {"deny": ["rag.*"]}).status == 200
    refused = conditional.send("PATCH", "/v1/roles/members", {"deny": []})
    assert (refused.status, refused.json["code"]) == (412, "PRECONDITION_FAILED")
    assert directory.read("acme").role("members").deny == ("rag.*",)
    for wrong in ("yesterday", ""):
        assert ada.with_headers(if_match=wrong).send("PATCH", "/v1/roles/members", {}).status == 400


def test_the_organization_is_shown_changed_and_replaced(ada: RestClient) -> None:
    document = ada.get("/v1/organization").json
    assert ada.send("PUT", "/v1/organization", document).json["changes"] == []
    changed = ada.send("PATCH", "/v1/organization", {"name": "Acme Inc.", "disable": ["rag.put_*"]}).json
    assert {change["path"] for change in changed["changes"]} == {"name", "disabled"}
    assert ada.send("PATCH", "/v1/organization", {"enable": ["x"]}).json["code"] == "VALIDATION_ERROR"
    assert ada.send("PUT", "/v1/organization", document).json["changes"] != []
    assert directory.read("acme").name == "Acme"
    assert ada.send("PUT", "/v1/organization", {**document, "organization": "globex"}).status == 403
    assert ada.send("PUT", "/v1/organization", {**document, "users": {}}).json["error"].endswith("administrator.")


READS = ["/v1/users", "/v1/users/ada", "/v1/users/ada/preview", "/v1/roles", "/v1/roles/members"]
READS += ["/v1/roles/members/preview", "/v1/organization"]
CHANGES: list[tuple[str, str, Any]] = [
    ("POST", "/v1/users", {"user": "eve", "name": "Eve", "sub": "e"}),
    ("PATCH", "/v1/users/uma", {"system_role": "admin"}),
    ("DELETE", "/v1/users/ada", None),
    ("POST", "/v1/roles", {"name": "all"}),
    ("PATCH", "/v1/roles/members", {"allow": ["*"], "destructive": True}),
    ("DELETE", "/v1/roles/members", None),
    ("PATCH", "/v1/organization", {"name": "Mine"}),
    ("PUT", "/v1/organization", {"organization": "acme", "name": "Mine"}),
]


@pytest.mark.parametrize(("method", "path", "body"), [*(("GET", path, None) for path in READS), *CHANGES])
def test_who_is_no_administrator_reads_and_changes_nothing(rest: RestClient, method: str, path: str, body: Any) -> None:
    before = directory.read_version("acme")
    answer = rest.of("uma").send(method, path, body)
    assert (answer.status, answer.json["code"]) == (403, "AUTHORIZATION_ERROR")
    assert directory.read_version("acme") == before
    (row,) = rows(rest.of("ada"), user="uma")
    assert (row["outcome"], row["door"], row["client_id"]) == ("AUTHORIZATION_ERROR", "rest_api", "local")
    assert rest.of(None).send(method, path, body).status == 401


def test_an_administrator_sees_what_is_spent_today_of_each_limit(ada: RestClient, rest: RestClient) -> None:
    Spending().reserve_steps("acme", 40_000, time.time())
    limits = {one["measure"]: one for one in ada.get("/v1/organization/usage").json["limits"]}
    assert set(limits) == {"calls", "steps", "program_seconds", "bytes"}
    assert limits["steps"] == {"measure": "steps", "used": 40_000, "limit": 50_000, "percent": 80, "state": "near"}
    assert (limits["calls"]["limit"], limits["calls"]["state"]) == (100_000, "ok")
    assert rest.of("uma").get("/v1/organization/usage").status == 403


def test_a_person_sees_the_organizations_and_acts_in_the_named_one(ada: RestClient, login: LocalLogin) -> None:
    subject = Subject(login.issuer, "ada")
    members.put_organization("globex", name="Globex")
    members.put_user("globex", "ada2", name="Ada", subject=subject, system_role="user")
    directory.access_cache.clear()
    found = ada.get("/v1/organizations").json["organizations"]
    assert [(one["organization"], one["user"], one["system_role"]) for one in found] == [
        ("acme", "ada", "admin"),
        ("globex", "ada2", "user"),
    ]
    assert ada.get("/v1/users").status == 403
    assert ada.with_headers(x_mcpist_organization="acme").get("/v1/users").status == 200
    assert ada.with_headers(x_mcpist_organization="globex").get("/v1/users").status == 403
    assert ada.of(None).get("/v1/organizations").status == 401
    assert ada.of("stranger").get("/v1/organizations").status == 403


def test_nobody_is_taken_into_another_organization_by_its_administrator(ada: RestClient, login: LocalLogin) -> None:
    members.put_organization("globex", name="Globex")
    subject = Subject(login.issuer, "mallory")
    members.put_user("globex", "mallory", name="Mallory", subject=subject, system_role="admin")
    directory.access_cache.clear()
    mallory = ada.of("mallory")
    for sub in ("ada", "nobody yet"):
        assert mallory.post("/v1/users", {"user": sub, "name": sub, "sub": sub}).status == 201
    directory.access_cache.clear()
    assert ada.get("/v1/users").json["organization"] == "acme"
    assert [one["organization"] for one in ada.get("/v1/organizations").json["organizations"]] == ["acme"]
    for refused in (
        ada.with_headers(x_mcpist_organization="globex").get("/v1/users"),
        ada.of("nobody yet").get("/v1/users"),
        ada.of("nobody yet").get("/v1/organizations"),
    ):
        assert (refused.status, refused.json["code"]) == (403, "AUTHORIZATION_ERROR")
        assert refused.json["error"] == "You have not accepted to be a user of globex."
        assert "Sign in to the console" in refused.json["hint"]


def test_the_audit_is_filtered_paged_and_exported(ada: RestClient, rest: RestClient) -> None:
    for number in range(5):
        ada.post("/v1/roles", {"name": f"r{number}"})
    rest.call("rag-list-tags")
    assert [row["target"] for row in rows(ada, event="change", limit=2)] == ["roles.r4", "roles.r3"]
    assert [row["tool"] for row in rows(ada, user="uma")] == ["rag.list_tags"]
    first = ada.get("/v1/audit", tool="roles.create", limit=3, format="csv")
    assert first.headers["content-type"].startswith("text/csv")
    second = ada.get("/v1/audit", tool="roles.create", limit=3, format="jsonl", cursor=first.headers["x-next-cursor"])
    targets = [row["target"] for row in csv.DictReader(io.StringIO(first.text))]
    targets += [json.loads(line)["target"] for line in second.text.splitlines()]
    assert targets == [f"roles.r{number}" for number in (4, 3, 2, 1, 0)]
    assert second.headers["x-next-cursor"] == ""
    assert rows(ada, since="2020-01-01T00:00:00Z", until="2020-02-01") == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": 1001},
        {"since": "never"},
        {"since": "0.5"},
        {"cursor": "x"},
        {"format": "xml"},
        {"since": "1-1-1"},
    ],
)
def test_a_wrong_search_is_refused(ada: RestClient, wrong: dict[str, Any]) -> None:
    assert ada.get("/v1/audit", **wrong).json["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/users", {"user": "eve", "name": "Eve"}, "sub"),
        ("/v1/users", {"user": "eve", "name": "Eve", "sub": "e", "admin": True}, "admin"),
        ("/v1/users", {"user": "e#e", "name": "Eve", "sub": "e"}, "users.e#e"),
        ("/v1/roles", {"name": "a", "modules": "rag"}, "modules"),
    ],
)
def test_wrong_fields_are_named(ada: RestClient, path: str, body: Any, field: str) -> None:
    answer: Answer = ada.post(path, body)
    assert (answer.status, answer.json["code"]) == (400, "VALIDATION_ERROR")
    assert field in answer.json["error"]


def test_a_taken_name_is_a_conflict(ada: RestClient) -> None:
    assert ada.post("/v1/roles", {"name": "members"}).json["code"] == "CONFLICT"
    assert ada.post("/v1/users", {"user": "uma", "name": "Uma", "sub": "u"}).status == 409


def test_a_change_without_its_row_does_not_happen(ada: RestClient) -> None:
    boto3.client("dynamodb").delete_table(TableName=settings().audit_table)
    assert ada.post("/v1/roles", {"name": "a"}).status >= 500
    assert directory.read("acme").roles.keys() == {"members"}
    assert Role("members").destructive is False


def test_adoption_is_of_everybody_for_an_administrator_and_else_of_oneself(rest: RestClient) -> None:
    ada, uma = rest.of("ada"), rest.of("uma")
    for client in (ada, uma):
        assert client.call("rag-list-tags").status == 200
    report = ada.get("/v1/audit/adoption").json
    assert (report["uses"], report["people"], report["complete"]) == (2, 2, True)
    assert [(one["tool"], one["uses"]) for one in report["tools"]] == [("rag.list_tags", 2)]
    own = uma.get("/v1/audit/adoption").json
    assert (own["uses"], own["people"], len(own["weeks"])) == (1, 1, 1)
    assert ada.get("/v1/audit/adoption", until="2020-01-01T00:00:00Z").json["uses"] == 0


# -- connected accounts ---------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def broker(rest: RestClient) -> FakeBroker:  # noqa: ARG001 - AWS is mocked first
    return FakeBroker()


def test_a_user_with_connected_accounts_is_removed_only_with_them(ada: RestClient, broker: FakeBroker) -> None:
    ada.post("/v1/users", {"user": "eve", "name": "Eve", "sub": "e"})
    broker.grants = [GRANT]
    refused = ada.send("DELETE", "/v1/users/eve")
    assert refused.json["error"] == "Accounts are connected for user eve: github."
    dry = ada.send("DELETE", "/v1/users/eve", dryRun="true", withGrants="true").json
    assert (dry["forgotten_grants"], broker.grants) == (["github of user eve"], [GRANT])
    assert ada.send("DELETE", "/v1/users/eve", withGrants="true").status == 200
    assert broker.grants == []
    kill = broker.messages[-1]
    assert (kill["operation"], kill["user"], kill["proof"]["kind"], kill["organization"]) == (
        *("kill", "eve", "jwt", "acme"),
    )


def test_grants_are_the_brokers_business(rest: RestClient, broker: FakeBroker) -> None:
    broker.grants = [GRANT | {"owner": "user#uma"}]
    assert rest.get("/v1/grants", user="uma").json["grants"][0]["account_name"] == "eve"
    question = rest.post("/v1/grants", {"service": "github", "key": "k-secret-1"}).json
    assert (question["outcome"], question["question"]) == ("asks", "0" * 64)
    answer = {"question": question["question"], "agreed": True}
    assert rest.post("/v1/grants/confirm", answer).json["outcome"] == "connected"
    assert rest.send("DELETE", "/v1/grants/github").json["revoked"] is True
    assert rest.post("/v1/grants/kill", {"user": "uma"}).json["killed"] == [{"deleted": True}]
    assert [message["operation"] for message in broker.messages] == ["list", "paste", "confirm", "revoke", "kill"]
    assert broker.messages[1]["key"] == "k-secret-1"
    assert "role" not in broker.messages[1]
    assert all(message["client"]["id"] == "local" for message in broker.messages)


@pytest.mark.parametrize(
    "wrong", [{"service": 7}, {"role": ["x"]}, {"more": 1}, {"key": ["k-secret-1"]}, {"key": "k-secret-1" * 2_000}]
)
def test_a_key_is_in_no_error_and_no_log(
    rest: RestClient, wrong: dict[str, Any], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = rest.post("/v1/grants", {"service": "github", "key": "k-secret-1", **wrong})
    assert answer.json["code"] == "VALIDATION_ERROR"
    assert "k-secret" not in answer.text + caplog.text + "".join(capfd.readouterr())


def test_a_person_searches_and_reads_only_rows_about_themselves(ada: RestClient, rest: RestClient) -> None:
    ada.post("/v1/roles", {"name": "r"})
    rest.call("rag-list-tags")
    uma = rest.of("uma")
    (own,) = rows(uma)
    assert (own["user"], own["tool"]) == ("uma", "rag.list_tags")
    assert rows(uma, user="uma", client=own["client_name"], text="RAG.list") == [own]
    assert rows(uma, event="change") == []
    assert [row["id"] for row in uma.get(f"/v1/audit/{own['id']}").json["rows"]] == [own["id"]]
    (change,) = rows(ada, event="change")
    assert uma.get(f"/v1/audit/{change['id']}").json["code"] == "AUDIT_ROW_NOT_FOUND"
    assert ada.get(f"/v1/audit/{own['id']}").json["row"] == own
    assert ada.get("/v1/audit/none").status == 404
    for path in ("/v1/audit", f"/v1/audit/{own['id']}"):
        assert rest.of(None).get(path).status == 401


def test_a_search_for_another_persons_rows_is_refused_with_a_row(ada: RestClient, rest: RestClient) -> None:
    assert rest.of("uma").get("/v1/audit", user="ada").status == 403
    assert [(row["user"], row["tool"], row["outcome"]) for row in rows(ada, outcome="failed")] == [
        ("uma", "audit.read", "AUTHORIZATION_ERROR")
    ]


def test_a_dry_run_counts_the_calls_that_would_have_been_refused(ada: RestClient, rest: RestClient) -> None:
    for tool in ("rag-list-tags", "rag-list-tags", "rag-list-folders", "files-list"):
        rest.call(tool)
    ada.call("rag-list-tags")
    used = Counter((row["user"], row["tool"]) for row in rows(ada, outcome="succeeded") if row["tool"] != "files.list")
    dry = ada.send("PATCH", "/v1/roles/members", {"deny": ["rag.*"]}, dryRun="true").json
    found = dry["refused_calls"]
    assert {(row["user"], row["tool"]): row["calls"] for row in found["calls"]} == used
    assert used["uma", "rag.list_tags"] == found["calls"][0]["calls"] == 2
    assert 28 <= found["days"] < 35
    assert found["complete"]
    assert ada.send("PATCH", "/v1/roles/members", {"allow": ["rag.*"]}, dryRun="true").json["refused_calls"] is None
    assert ada.send("PATCH", "/v1/roles/members", {"deny": ["rag.*"]}).json["refused_calls"] is None


@pytest.mark.parametrize("field", ["allow", "deny", "approval", "second_person"])
def test_a_mask_that_matches_no_tool_is_warned_of(ada: RestClient, field: str) -> None:
    answer = ada.send("PATCH", "/v1/roles/members", {field: ["rag.delte_doc"]}, dryRun="true")
    assert answer.json["warnings"] == [f"roles.members.{field}: the mask rag.delte_doc matches no tool of this release"]
