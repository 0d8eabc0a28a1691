"""Policies by REST: shown, checked, previewed, saved and removed by administrators, with their audit rows."""

from mcpist.audit import record as audit
from mcpist.caller import Caller, Subject
from mcpist.memory import forget_entries
from tests.audit_items import audit_items
from tests.rest_api.rest_client import RestClient

BASE = '@id("base") permit (principal, action, resource);'
NO_TAGS = f'{BASE} @id("no-tags") @message("No tags.") forbid (principal, action == Action::"rag.list_tags", resource);'
URL = "/v1/policies"


def put(rest: RestClient, text: str, **query: str) -> tuple[int, dict[str, object]]:
    answer = rest.send("PUT", URL, {"text": text}, **query)
    return answer.status, answer.json


def test_policies_are_saved_hold_at_once_and_are_removed(rest: RestClient) -> None:
    admin = rest.of("ada")
    assert (admin.get(URL).json["text"], admin.get(URL).json["version"]) == ("", 0)
    status, report = put(admin, NO_TAGS)
    assert (status, report["version"]) == (200, 1)
    assert [one["id"] for one in report["rules"]] == ["base", "no-tags"]
    refused = rest.call("rag-list-tags").json
    assert (refused["code"], refused["details"]["policy"]) == ("POLICY_REFUSED", "no-tags")
    explained = rest.get("/v1/why", tool="rag.list_tags").json
    assert (explained["firstNo"], explained["usable"]) == ("policy", False)
    assert admin.get("/v1/why", tool="rag.list_tags", user="uma").json["firstNo"] == "policy"
    docs = {"commands": [{"module": "rag", "tool": "list_docs"}], "dry_run": True}
    assert [one["policy"] for one in rest.post("/v1/batches", docs).json["plan"]["steps"]] == ["permit: base"]
    both = {"commands": [*docs["commands"], {"id": "tags", "module": "rag", "tool": "list_tags"}]}
    verdicts = rest.post("/v1/batches", both).json["details"]["verdicts"]
    assert [(one["id"], one["policy"]) for one in verdicts] == [("line1", "permit: base"), ("tags", "refuse: no-tags")]
    assert put(admin, f"{NO_TAGS} ")[1]["version"] == 2
    assert admin.send("DELETE", URL).json["version"] == 0
    forget_entries()  # a sandbox learns of it within seconds
    assert rest.call("rag-list-tags").status == 200
    rows = [row for row in audit_items("acme") if row["tool"] == "policies.update"]
    assert [row["target"] for row in rows] == ["policies"] * 3
    assert NO_TAGS in str(rows[0]["after"])


def test_wrong_policies_are_refused_with_all_problems_and_nothing_is_saved(rest: RestClient) -> None:
    admin = rest.of("ada")
    status, error = put(admin, f'{BASE} @id("a") forbid (principal, action == Action::"rag.list_tag", resource);')
    assert (status, error["code"], error["details"]["problems"][0]["policy"]) == (400, "VALIDATION_ERROR", "a")
    assert put(admin, '@id("a") permit (principal == User::"uma", action, resource);')[0] == 400
    assert put(admin, "/" * 1_100_000)[1]["code"] == "PAYLOAD_TOO_LARGE"
    assert put(rest, BASE)[1]["code"] == "AUTHORIZATION_ERROR"
    assert rest.get(URL).json["code"] == "AUTHORIZATION_ERROR"
    assert admin.get(URL).json["version"] == 0


def test_a_dry_run_shows_what_would_have_been_stopped_and_for_whom(rest: RestClient) -> None:
    uma = Caller("acme", "uma", Subject("i", "uma"), "user", ())
    for tool, outcome in (
        ("list_tags", "succeeded"),
        ("list_tags", "succeeded"),
        ("list_tags", "started"),
        ("get_doc", "succeeded"),
    ):
        audit.record_use(uma, "rag", tool, outcome=outcome, request="r")
    by_path = (
        ' @id("a") @ask forbid (principal, action in Action::"rag.*", resource)'
        ' when { context.args has path && context.args.path like "a*" };'
    )
    status, report = put(rest.of("ada"), NO_TAGS + by_path, dryRun="true")
    assert (status, report["version"], report["dry_run"]) == (200, 1, True)
    calls = {(one["user"], one["tool"]): one for one in report["preview"]["calls"]}
    assert {key: (one["calls"], one["verdict"], one["policy"]) for key, one in calls.items()} == {
        ("uma", "rag.list_tags"): (2, "refuse: no-tags", "no-tags"),
        ("uma", "rag.get_doc"): (1, "perhaps ask", "a"),
    }
    assert rest.of("ada").get(URL).json["version"] == 0


def test_a_dry_run_knows_saved_batches_automations_and_modules_that_are_gone(rest: RestClient) -> None:
    admin = rest.of("ada")
    modules = [*admin.get("/v1/roles/members").json["modules"], "saved", "automations"]
    assert admin.send("PATCH", "/v1/roles/members", {"modules": modules, "allow": ["*"]}).status == 200
    uma = Caller("acme", "uma", Subject("i", "uma"), "user", ())
    for module, tool in (("saved", "save"), ("automations", "list"), ("gone", "find_note")):
        audit.record_use(uma, module, tool, outcome="succeeded", request="r")
    ours = (
        f'{BASE} @id("no-saving") forbid (principal, action == Action::"saved.save", resource);'
        ' @id("no-automations") forbid (principal, action in Action::"automations.*", resource);'
    )
    status, report = put(admin, ours, dryRun="true")
    assert status == 200, report
    calls = {one["tool"]: one["policy"] for one in report["preview"]["calls"]}
    assert calls == {"saved.save": "no-saving", "automations.list": "no-automations"}


def test_templates_are_offered_in_the_readers_language(rest: RestClient) -> None:
    titles = {
        language: [
            one["title"]
            for one in rest.with_headers(accept_language=language).get(f"{URL}/templates").json["templates"]
        ]
        for language in ("en", "ja")
    }
    assert len(titles["en"]) == len(titles["ja"]) == 8
    assert titles["en"] != titles["ja"]
