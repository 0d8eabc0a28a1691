"""Saved batches at the endpoint: saved, found, called, used as steps, shared and refused."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from mcpist.aws.table import ledger_table
from mcpist.batch.saved import records
from mcpist.caller import Policies, Role, Subject
from mcpist.people import directory, edits
from mcpist.tools.search.translation import read_translation
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.saved import checking, module, saving
from tests import members
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver
from tests.mcp_endpoint.test_categories import SCRIPT
from tests.mcp_endpoint.test_categories import upstreams as upstreams
from tests.upstreams.configured import Upstreams, reset_upstreams

MODULES = (*NAMES, "saved")
FIND = {"id": "find", "module": "rag", "tool": "search_docs", "params": {"query": "${param.words}", "limit": 3}}
READ = {"id": "read", "module": "rag", "tool": "get_doc", "params": {"path": "${find.items[0].path}"}, "output": True}
WORDS = {"words": {"type": "string", "description": "What to look for"}}
SAVE = {"name": "best_doc", "description": "Read the best document", "commands": [FIND, READ], "parameters": WORDS}


@pytest.fixture
def door(endpoint: EndpointClient) -> EndpointClient:
    """A client of a person who saves batches."""
    members.put_role("acme", Role("members", modules=MODULES, allow=("rag.*", "saved.*"), destructive=True))
    directory.access_cache.clear()
    return endpoint.apart


def saved(door: EndpointClient, **changes: Any) -> str:
    failed, texts = door.call("call", module="saved", tool="save", params=SAVE | changes)
    assert not failed, texts
    return texts[0]


def colleague(
    door: EndpointClient, user: str, *, allow: tuple[str, ...] = (), modules: tuple[str, ...] = MODULES
) -> Any:
    members.put_role("acme", Role(user, modules=modules, allow=allow))
    subject = Subject(door.login.issuer, user)
    members.put_user("acme", user, name=user, subject=subject, roles=(user, "shared"))
    directory.access_cache.clear()
    return door.of(user)


def test_a_saved_batch_is_called_like_a_tool_and_answers_with_its_step(door: EndpointClient) -> None:
    row = saved(door)
    assert "best_doc" in row
    assert re.search(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", row), "a moment is a text, as everywhere"
    failed, texts = door.call("call", module="saved", tool="best_doc", params={"words": "${not.a} reference"})
    batch = texts[0].split()[1].rstrip(":")
    driver = LedgerDriver(batch)
    assert not failed
    assert driver.step("find").step.params == {"query": "$${not.a} reference", "limit": 3}
    driver.finish("find", raw=[{"path": "a.md", "title": "A"}])
    driver.finish("read", raw={"path": "a.md", "title": "A", "content": "# A"})
    summary, answer = door.call("batch", batch_id=batch)[1]
    assert "find succeeded, read succeeded" in summary
    assert answer.startswith("read: succeeded")


def problem(door: EndpointClient, **changes: Any) -> tuple[str, str]:
    error = door.error("call", module="saved", tool="save", params=SAVE | changes)
    return error["code"], f"{error['details'].get('field', '')}: {error['message']}"


def test_what_is_wrong_with_a_batch_is_told_when_it_is_saved(door: EndpointClient) -> None:
    many = [{"id": f"s{number}", "module": "rag", "tool": "list_tags"} for number in range(101)]
    misspelt = {**FIND, "params": {"query": "${param.word}"}}
    cases: dict[str, dict[str, Any]] = {
        "TOOL_NOT_FOUND": {"commands": [{"module": "rag", "tool": "gone"}], "parameters": {}},
        "no parameter word": {"commands": [misspelt], "parameters": WORDS},
        "no step refers to param.unused": {"parameters": WORDS | {"unused": {"type": "string"}}},
        "says no type": {"parameters": {"words": {"description": "x"}}},
        "is not of type": {"parameters": {"words": {"type": "string", "default": 5}}},
        "more than": {"commands": many, "parameters": {}},
        "PAYLOAD_TOO_LARGE": {
            "commands": [
                {**FIND, "params": {"query": "${param.words}" + "x" * 900}, "id": f"s{number}"} for number in range(98)
            ],
            "parameters": {"words": {"type": "string", "description": "x" * 20_000}},
        },
        "do not have the role": {"roles": ["owners"]},
        "There is no step": {"answer": "nope"},
        "AlreadyExists": {"name": "show"},
        "give commands": {"batch": "b_0123456789abcdef"},
    }
    seen = {wanted: problem(door, **changes) for wanted, changes in cases.items()}
    aliases = {"AlreadyExists": 'a tool "saved.show" already', "more than": "100", "There is no step": "nope"}
    wrong = {name: said for name, said in seen.items() if aliases.get(name, name) not in " ".join(said)}
    assert not wrong


def plan(door: EndpointClient, *steps: dict[str, Any]) -> dict[str, dict[str, Any]]:
    failed, texts = door.call("batch", commands=list(steps), dry_run=True)
    assert not failed, texts
    return {step["id"]: step for step in json.loads(texts[0])["steps"]}


def use(name: str, tool: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "module": "saved", "tool": tool} | fields


def test_the_steps_of_a_saved_batch_take_the_place_of_the_step_that_uses_it(door: EndpointClient) -> None:
    saved(door)
    twice = [
        use("first", "best_doc", params={"words": "${param.words}"}),
        {
            "id": "more",
            "module": "rag",
            "tool": "search_docs",
            "params": {"query": "like ${first.title}, ${param.words}"},
        },
    ]
    saved(door, name="similar", commands=twice)
    steps = plan(
        door,
        {"id": "tags", "module": "rag", "tool": "list_tags"},
        use("near", "similar", params={"words": "${tags.items[0].tag}"}, when="${tags.items}", output=True),
        {"id": "last", "module": "rag", "tool": "get_doc", "params": {"path": "${near.items[0].path}"}},
        {"id": "after", "module": "rag", "tool": "list_tags", "after": ["near"]},
    )
    assert {name: step["needs"] for name, step in steps.items()} == {
        "tags": [],
        "near__first__find": ["tags"],
        "near__first__read": ["tags", "near__first__find"],
        "near__more": ["tags", "near__first__read"],
        "last": ["near__more"],
        "after": ["near__first__find", "near__first__read", "near__more"],
    }
    assert steps["near__first__find"]["params"]["query"] == "${tags.items[0].tag}"
    assert steps["near__more"]["params"]["query"] == "like ${near__first__read.title}, ${tags.items[0].tag}"
    assert {step["line"] for name, step in steps.items() if name.startswith("near")} == {2}
    assert steps["near__more"]["when"] == {"not_empty": "${tags.items}"}


def test_a_parameter_may_be_a_list_that_a_step_runs_over_and_has_a_default(door: EndpointClient) -> None:
    each = {"id": "read", "module": "rag", "tool": "get_doc", "each": "${param.paths}", "params": {"path": "${each}"}}
    own = {"when": {"equals": ["${param.really}", True]}}
    saved(
        door,
        name="read_all",
        commands=[each | own],
        parameters={
            "paths": {"type": "array", "items": {"type": "string"}},
            "really": {"type": "boolean", "default": True},
        },
    )
    step = plan(door, use("docs", "read_all", params={"paths": ["a.md", "b.md"]}))["read"]
    assert (step["each"], step["when"]) == ('["a.md", "b.md"]', {"equals": [True, True]})
    empty = plan(door, use("docs", "read_all", params={"paths": [], "really": False}))["read"]
    assert (empty["each"], empty["when"]) == ("[]", {"equals": [False, True]})
    wrong = door.error("batch", commands=[use("docs", "read_all", params={"paths": 5})])
    assert (wrong["code"], wrong["details"]["field"]) == ("VALIDATION_ERROR", "paths")
    missing = door.error("batch", commands=[use("docs", "read_all", params={"paths": [], "pahts": ["a.md"]})])
    assert missing["details"]["field"] == "pahts"


def test_a_step_with_a_saved_batch_has_no_options_of_its_own_and_no_cycle(door: EndpointClient) -> None:
    saved(door)
    for name, inner in (("two", "best_doc"), ("three", "two"), ("four", "three")):
        if name == "four":
            assert (
                "at most 3 deep"
                in problem(door, name=name, commands=[use("x", inner, params={"words": "${param.words}"})])[1]
            )
        else:
            saved(door, name=name, commands=[use("x", inner, params={"words": "${param.words}"})])
    circle = problem(door, commands=[use("x", "two", params={"words": "${param.words}"})], replaces=1)
    assert "saved.best_doc -> saved.two -> saved.best_doc" in circle[1]
    for field, value in (("each", "${tags.items}"), ("on_error", "continue"), ("retry", 1), ("account", "work")):
        line = use("doc", "best_doc", params={"words": "x"}, **{field: value})
        refused = door.error("batch", commands=[{"id": "tags", "module": "rag", "tool": "list_tags"}, line])
        assert (refused["details"]["field"], refused["details"]["line"]) == (field, 2)
    assert door.error("call", module="saved", tool="best_doc", params={"words": "x"}, options={"retry": 1})
    captured = use("doc", "best_doc", params={"words": "${each.tag}"})
    assert "an element" in door.error("batch", commands=[captured])["message"]
    assert "no parameter" not in door.error("batch", commands=[FIND])["message"]


def test_a_name_has_versions_of_one_owner_and_is_shared_with_roles(door: EndpointClient) -> None:
    members.put_role("acme", Role("shared"))
    saved(door)
    assert problem(door)[0] == "CONFLICT"
    assert problem(door, replaces=2)[0] == "PRECONDITION_FAILED"
    saved(door, replaces=1, description="Second")
    assert "Second" in door.call("call", module="saved", tool="show", params={"name": "best_doc"})[1][0]
    first = door.call("call", module="saved", tool="show", params={"name": "best_doc", "version": 1})[1][0]
    assert "Read the best document" in first
    other = colleague(door, "ben", allow=("saved.*",))
    unknown = other.error("call", module="saved", tool="best_doc", params={"words": "x"})
    assert (unknown["code"], unknown["message"]) == ("TOOL_NOT_FOUND", 'The module "saved" has no tool "best_doc".')
    assert problem(other)[0] == "CONFLICT"
    members.put_user("acme", "uma", name="Uma", subject=Subject(door.login.issuer, "uma"), roles=("members", "shared"))
    directory.access_cache.clear()
    saved(door, replaces=2, roles=["shared"])
    assert not other.call("call", module="saved", tool="best_doc", params={"words": "x"})[0]
    assert problem(other, replaces=3)[0] == "CONFLICT"
    assert (
        other.error("call", module="saved", tool="delete", params={"name": "best_doc"})["code"] == "AUTHORIZATION_ERROR"
    )
    assert "best_doc(words) -> path" in other.call("get_module_schema", query="read the best document")[1][0]
    unshared = other.error("call", module="saved", tool="show", params={"name": "best_doc", "version": 1})
    assert unshared["code"] == "VALIDATION_ERROR"


def test_a_saved_batch_does_what_its_caller_may_do(door: EndpointClient) -> None:
    members.put_role("acme", Role("shared"))
    members.put_user("acme", "uma", name="Uma", subject=Subject(door.login.issuer, "uma"), roles=("members", "shared"))
    directory.access_cache.clear()
    write = {"id": "note", "module": "rag", "tool": "put_doc", "params": {"path": "n.md", "content": "${param.words}"}}
    drop = {"id": "drop", "module": "rag", "tool": "delete_doc", "params": {"path": "${param.words}"}}
    saved(door, name="note", commands=[write], roles=["shared"])
    saved(door, name="drop", commands=[drop])
    other = colleague(door, "ben")
    direct = other.error("batch", commands=[write | {"params": {"path": "n.md", "content": "x"}}])
    through = other.error("call", module="saved", tool="note", params={"words": "x"})
    assert through == direct
    assert through["code"] == "AUTHORIZATION_ERROR"
    reader = door.at("/mcp/readonly").error("call", module="saved", tool="note", params={"words": "x"})
    assert reader["code"] == "AUTHORIZATION_ERROR"
    asked = door.error("call", module="saved", tool="drop", params={"words": "old.md"})
    assert (asked["code"], asked["details"]["destructive"][0]["targets"]) == (
        "CONFIRMATION_REQUIRED",
        {"path": "old.md"},
    )
    failed, texts = door.call("call", module="saved", tool="drop", params={"words": "old.md"}, confirm=True)
    assert (failed, texts[0].partition(":")[0].split()[0]) == (False, "batch")


def test_a_name_that_is_free_again_shows_nothing_of_its_former_owner(door: EndpointClient) -> None:
    members.put_role("acme", Role("shared"))
    saved(door)
    saved(door, replaces=1)
    saved(door, replaces=2)
    ledger_table().delete("acme#saved", "best_doc")  # as 30 days after it was deleted
    records.read("acme", fresh=True)
    other = colleague(door, "ben", allow=("rag.*", "saved.*"))
    saved(other, description="Of Ben")
    former = other.error("call", module="saved", tool="show", params={"name": "best_doc", "version": 2})
    first = other.call("call", module="saved", tool="show", params={"name": "best_doc", "version": 1})[1][0]
    assert (former["code"], "Of Ben" in first) == ("VALIDATION_ERROR", True)


@pytest.mark.parametrize("action", ['== Action::"saved.best_doc"', 'in Action::"saved.*"'])
def test_a_policy_about_a_saved_batch_forbids_its_use(door: EndpointClient, action: str) -> None:
    saved(door)
    base = '@id("base") permit (principal, action, resource);'
    change = edits.set_policies(Policies(1, f'{base}\n@id("no") forbid (principal, action {action}, resource);'))
    directory.change("acme", change)
    directory.access_cache.clear()
    called = door.error("call", module="saved", tool="best_doc", params={"words": "x"})
    inside = door.error("batch", commands=[use("a", "best_doc", params={"words": "x"})])
    assert (called["code"], inside["code"]) == ("POLICY_REFUSED", "POLICY_REFUSED")


def test_a_refused_batch_has_the_verdict_on_each_step(door: EndpointClient) -> None:
    saved(door)
    no = '@id("no") forbid (principal, action == Action::"rag.list_tags", resource);'
    directory.change("acme", edits.set_policies(Policies(1, f'@id("b") permit (principal, action, resource); {no}')))
    directory.access_cache.clear()
    tags = {"id": "tags", "module": "rag", "tool": "list_tags"}
    refused = door.error("batch", commands=[use("a", "best_doc", params={"words": "x"}), tags])
    assert {one["id"]: one["policy"] for one in refused["details"]["verdicts"]} == {
        "a__find": "permit: b",
        "a__read": "permit: b",
        "tags": "refuse: no",
    }


def test_a_batch_that_ran_is_saved_and_a_deleted_one_is_no_tool(door: EndpointClient) -> None:
    started = door.call("batch", commands=[FIND | {"params": {"query": "x"}}])[1][0].split()[1].rstrip(":")
    saved(door, name="ran", commands="", batch=started, parameters={})
    assert records.latest("acme", "ran").commands == [FIND | {"params": {"query": "x"}}]  # type: ignore[union-attr]
    assert not door.call("call", module="saved", tool="delete", params={"name": "ran"}, confirm=True)[0]
    gone = door.error("call", module="saved", tool="ran")
    assert gone["code"] == "TOOL_NOT_FOUND"
    saved(door, name="ran")
    assert records.latest("acme", "ran").version == 2  # type: ignore[union-attr]


def test_a_check_at_night_says_what_is_broken_since(door: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(door)
    saved(door, name="fine", commands=[{"module": "rag", "tool": "list_tags"}], parameters={})
    assert checking.check_all("acme", CATALOGUE) == 0
    monkeypatch.setattr(checking, "CHECKED_SECONDS", -1)
    members.put_organization("acme", name="Acme", disabled=("rag.get_doc",))
    assert checking.check_all("acme", CATALOGUE) == 1
    shown = door.call("call", module="saved", tool="list", params={"broken": True})[1][0]
    assert "TOOL_DISABLED" in shown
    assert "(step read)" in shown
    assert "fine" not in shown
    members.put_organization("acme", name="Acme")
    assert checking.check_all("acme", CATALOGUE) == 0


def test_a_batch_that_was_saved_in_the_evening_is_checked_in_the_night(door: EndpointClient) -> None:
    saved(door)
    members.put_organization("acme", name="Acme", disabled=("rag.get_doc",))
    assert checking.check_all("acme", CATALOGUE) == 0
    ledger_table().set("acme#saved", SAVE["name"], {"checked_at": int(time.time()) - 5 * 3600})
    assert checking.check_all("acme", CATALOGUE) == 1


def test_the_check_at_night_reports_an_upstreams_changed_tool_and_no_server_that_is_down(
    door: EndpointClient, upstreams: Upstreams
) -> None:
    members.put_role("acme", Role("members", ("serena.fs", "saved"), ("serena.*", "saved.*")))
    directory.access_cache.clear()
    read = {"module": "serena.fs", "tool": "read_file", "params": {"path": "${param.path}"}}
    saved(door, name="read", commands=[read], parameters={"path": {"type": "string"}})

    def checked() -> str:
        """The problem that a check finds once the server's list is too old."""
        ledger_table().set("acme#saved", "read", {"checked_at": 1})
        ledger_table().delete("upstream#serena", "list#0")
        reset_upstreams()
        checking.check_all("acme", CATALOGUE)
        return records.read("acme", fresh=True).by_name["read"].problem

    upstreams.break_server("serena")
    assert checked() == ""
    described: Any = SCRIPT["tools"]
    changed = [{**one, "description": "Read more"} if one["name"] == "read_file" else one for one in described]
    upstreams.say("serena", **{**SCRIPT, "tools": changed})
    assert "waits for approval: it has changed" in checked()
    upstreams.break_server("serena")
    assert "waits for approval: it has changed" in checked()
    upstreams.say("serena", **{**SCRIPT, "tools": [one for one in described if one["name"] != "read_file"]})
    assert "TOOL_NOT_FOUND" in checked()
    upstreams.say("serena", **SCRIPT)
    assert checked() == ""


def test_descriptions_are_in_the_language_of_the_reader(door: EndpointClient) -> None:
    saved(door)
    members.put_user(
        "acme", "uma", name="Uma", subject=Subject(door.login.issuer, "uma"), roles=("members",), locale="ja"
    )
    directory.access_cache.clear()
    shown = door.call("get_module_schema", modules=["saved"])[1][0]
    assert "バッチに名前を付けて保存する" in shown
    texts = read_translation(Path(module.__file__).parent, "ja")
    english = {one.description for one in module.saved.tools.values()}
    english |= {
        spec["description"]
        for one in module.saved.tools.values()
        for spec in one.input_schema["properties"].values()
        if "description" in spec
    }
    assert not {one for one in english if texts.text(one) == one}
    assert module.saved.name == saving.MODULE


def test_the_page_about_saved_batches_does_what_it_says(door: EndpointClient) -> None:
    page = (Path(__file__).parents[2] / "docs/saved-batches.md").read_text("utf-8")
    blocks = re.findall(r"^```(jsonl?)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks].count("json") == 5
    for kind, text in blocks:
        if kind == "json":
            failed, texts = door.call("call", **json.loads(text))
        else:
            failed, texts = door.call("batch", commands=text, dry_run=True)
        assert not failed, texts
    assert records.latest("acme", "read_about").version == 2  # type: ignore[union-attr]
