"""The workbench: a task finds tools, they become the steps of a batch, and nothing runs before its person says so."""

import html
import json
import re
from typing import Any

import pytest

from console.workbench.draft import Draft, parse, planned
from mcpist.batch.execution import submission
from mcpist.batch.language.steps import MAX_BATCH_STEPS
from mcpist.batch.ledger import ledger
from mcpist.batch.options import DEFAULT_OPTIONS
from mcpist.caller import Role, Subject
from mcpist.errors import PolicyRefused, ToolDisabled
from mcpist.people import directory
from mcpist.running.confirmation import Agreement
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.console.conftest import Browser
from tests.full_issuer import FullIssuer

LIST = {"id": "list_docs", "module": "rag", "tool": "list_docs", "params": {}, "output": True}
READ = {"id": "read", "module": "rag", "tool": "get_doc", "params": {"path": "${list_docs.items[0].path}"}}
DROP = {"id": "drop", "module": "rag", "tool": "delete_doc", "params": {"path": "old.md"}}
ISSUE = {"id": "issue", "module": "github", "tool": "get_issue", "params": {"owner": "o", "repo": "r", "number": 1}}


def lines(*steps: dict[str, Any]) -> str:
    return "\n".join(json.dumps(step) for step in steps)


def permissions_of(login: FullIssuer) -> Permissions:
    return Permissions(directory.identify(Subject(login.issuer, "uma")), CATALOGUE)


def press(browser: Browser, button: str, commands: str, **fields: str) -> str:
    """Press a button of the workbench and return the page."""
    form = {"search": button, "commands": commands, **{name.replace("__", "."): text for name, text in fields.items()}}
    answer = browser.post("/workbench", list(form.items()))
    assert answer["statusCode"] == 200, answer["body"]
    return str(answer["body"])


def draft_on(page: str) -> list[dict[str, Any]]:
    """Return the steps that the form of a page carries."""
    found = re.search(r'<textarea id="field-commands".*?>(.*?)</textarea>', page, re.DOTALL)
    assert found
    return [json.loads(line) for line in html.unescape(found[1]).splitlines()]


def states(page: str) -> dict[str, str]:
    """Return the state of each node of the picture."""
    found = re.findall(r'<div class="node (\w+)">.*?value="open:(.*?)"', page, re.DOTALL)
    return {name: state for state, name in found}


@pytest.fixture
def destroying(uma: Browser) -> Browser:
    """A browser of a person who may destroy documents."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("rag.*",), destructive=True))
    directory.access_cache.clear()
    return uma


def test_a_task_on_the_first_page_leads_to_tools_that_become_steps(uma: Browser) -> None:
    assert 'action="/workbench"' in uma.get("/")["body"]
    page = uma.get("/workbench?q=list+my+documents")["body"]
    assert 'value="add:rag.list_docs"' in page
    page = press(uma, "add:rag.list_docs", "", q="list my documents")
    assert draft_on(page) == [LIST]
    assert 'value="add:rag.search_docs"' in page, "the tools that were found stay"
    assert [step["id"] for step in draft_on(press(uma, "add:rag.list_docs", lines(LIST)))] == [
        "list_docs",
        "list_docs2",
    ]
    assert draft_on(press(uma, "remove:list_docs", lines(LIST, READ))) == [READ]
    assert draft_on(uma.get("/workbench?add=rag.list_docs")["body"]) == [LIST], "as the page of a tool leads here"


def test_each_step_shows_its_verdict_before_anything_runs(destroying: Browser) -> None:
    foreign = {"id": "foreign", "module": "rag", "tool": "no_such_tool", "params": {}}
    page = press(destroying, "check", lines(LIST, READ, DROP, ISSUE, foreign, {**READ, "id": "bare", "params": {}}))
    assert states(page) == {
        "list_docs": "allowed",
        "read": "allowed",
        "drop": "asks",
        "issue": "account",
        "foreign": "refused",
        "bare": "incomplete",
    }
    node = re.search(r'value="open:issue".*?</foreignObject>', page, re.DOTALL)
    assert node
    assert 'href="/connect/github" target="_blank"' in node[0], "an account is connected from its node"
    assert "TOOL_NOT_FOUND" in page
    assert 'value="run"' not in page, "what cannot be planned cannot be run"


def test_a_role_that_demands_an_approval_is_told_from_one_that_asks(destroying: Browser) -> None:
    role = Role("members", modules=NAMES, allow=("rag.*",), destructive=True, approval=("rag.*",))
    members.put_role("acme", role)
    directory.access_cache.clear()
    assert states(press(destroying, "check", lines(DROP))) == {"drop": "approval"}


@pytest.mark.usefixtures("organization")
def test_a_verdict_of_the_plan_is_shown_whoever_decides_it(login: FullIssuer) -> None:
    row = {"id": "list_docs", "line": 1, "tool": "rag.list_docs", "params": {}, "policy": "a rule asks"}
    plan = {"steps": [row, {"id": "read", "line": 2}], "destructive": [{"id": "list_docs"}]}
    found = planned(permissions_of(login), parse(lines(LIST, READ)), plan, ())
    assert [(step.state, step.notes) for step in found] == [("asks", ["a rule asks"]), ("allowed", [])]
    refused = ToolDisabled(name="rag.list_docs").with_details(line=1, id="list_docs")
    assert planned(permissions_of(login), parse(lines(LIST)), {}, [refused])[0].state == "refused"
    verdicts = [{"id": "list_docs", "line": 1, "policy": "permit: base"}, {"id": "read", "line": 2, "policy": "refuse"}]
    forbidden = PolicyRefused(name="rag.get_doc", policy="p", reason="").with_details(id="read", verdicts=verdicts)
    found = planned(permissions_of(login), parse(lines(LIST, READ)), {}, [forbidden])
    assert [(step.state, step.notes) for step in found] == [("allowed", ["permit: base"]), ("refused", ["refuse"])]


def test_a_step_is_offered_the_columns_of_those_before_it(uma: Browser) -> None:
    page = press(uma, "open:read", lines(LIST, READ, {**LIST, "id": "later", "after": ["read"]}))
    offered = re.findall(r'<option value="(\$.*?)">', html.unescape(page))
    assert "${list_docs.items[0].path}" in offered
    assert "${list_docs.items}" in offered
    assert not any(one.startswith("${later") for one in offered), "which waits for the step itself"
    page = press(uma, "open:read", lines(LIST, {**READ, "each": "${list_docs.items}"}))
    assert "${each.path}" in html.unescape(page)


def test_what_is_typed_into_a_step_is_its_line(uma: Browser) -> None:
    fields = {"open": "list_docs", "step__id": "all", "step__output": "yes", "arg__limit": "5", "step__after": "x, y"}
    page = press(uma, "check", lines(LIST, READ), **fields)
    first, second = draft_on(page)
    assert first == {**LIST, "id": "all", "params": {"limit": 5}, "after": ["x", "y"]}
    assert second["params"] == {"path": "${all.items[0].path}"}, "a new name is written where the old one was"
    again = press(uma, "check", lines(LIST), open="list_docs", step__id="list_docs", arg__limit="many")
    assert draft_on(again)[0]["params"] == {"limit": "many"}, "what is wrong stays as it was typed"
    assert states(again) == {"list_docs": "incomplete"}
    assert "INVALID_ARGUMENTS" in again or "VALIDATION_ERROR" in again


def test_lines_that_are_no_json_stay_as_they_were_typed(uma: Browser) -> None:
    page = press(uma, "check", '{"id": "a", <b>')
    assert "&lt;b&gt;" in page
    assert "VALIDATION_ERROR" in page
    assert "<b>" not in html.unescape(re.sub(r"<[^>]*>", "", page.replace("&lt;b&gt;", "")))


@pytest.mark.parametrize("value", ['"\\ud800"', "1e999", "9" * 5000])
def test_values_that_nobody_could_read_stay_as_they_were_typed(uma: Browser, value: str) -> None:
    typed = f'{{"id": "a", "module": "rag", "tool": "get_doc", "params": {{"path": {value}}}}}'
    assert html.escape(typed, quote=False).replace('"', "&#34;") in press(uma, "open:a", typed, open="a")


def test_a_new_id_of_any_characters_is_written_into_references(uma: Browser) -> None:
    page = press(uma, "check", lines(LIST, READ), open="list_docs", step__id='a","module":"\\')
    assert draft_on(page)[1] == {**READ, "params": {"path": '${a","module":"\\.items[0].path}'}}


def test_steps_that_wait_for_each_other_are_named_without_a_picture(uma: Browser) -> None:
    page = press(uma, "check", lines({**LIST, "after": ["read"]}, READ))
    assert "foreignObject" not in page
    assert "list_docs -&gt; read" in page or "read -&gt; list_docs" in page


def test_a_checked_batch_runs_and_can_be_changed_and_run_again(uma: Browser) -> None:
    page = press(uma, "check", lines(LIST, READ))
    assert 'value="run"' in page
    assert "&#34;flowchart" in page or "picture&#34;" in page, "the plan as a dry run answers it"
    answer = uma.post("/workbench", [("action", "run"), ("commands", lines(LIST, READ))])
    batch = re.search(r"/batches\?id=(b_\w+)", answer["headers"]["location"])
    assert batch
    entries = ledger.get_entries(ledger.partition_key("acme", batch[1]))
    assert sorted(entry.step.id for entry in entries) == ["list_docs", "read"]
    assert [step["id"] for step in draft_on(uma.get(f"/workbench?from={batch[1]}")["body"])] == ["list_docs", "read"]


def test_what_destroys_is_asked_first_and_a_refusal_keeps_the_draft(destroying: Browser) -> None:
    answer = destroying.post("/workbench", [("action", "run"), ("commands", lines(DROP))])
    assert "/batches?confirm=" in answer["headers"]["location"]
    answer = destroying.post("/workbench", [("action", "run"), ("commands", lines({**READ, "params": {}}))])
    assert answer["statusCode"] == 400
    assert draft_on(answer["body"]) == [{**READ, "params": {}}]


def test_a_checked_batch_is_copied_for_programs_as_it_stands(uma: Browser) -> None:
    quoted = {**READ, "params": {"path": 'it\'s ${list_docs.items[0].path} " `x` """\nJSON\n'}}
    page = press(uma, "check", lines(LIST, quoted))
    blocks = [html.unescape(one) for one in re.findall(r"<pre tabindex=\"0\"><code>(.*?)</code>", page, re.DOTALL)]
    mcp, curl, python, typescript = blocks[-4:]
    assert json.loads(mcp)["params"]["arguments"]["commands"] == [LIST, quoted]
    assert json.loads(curl.splitlines()[1])["commands"] == [LIST, quoted]
    scope: dict[str, Any] = {}
    exec(python.partition("headers =")[0], scope)  # noqa: S102 - our own text, which a person would run
    assert json.loads(scope["batch"])["commands"] == [LIST, quoted]
    assert json.loads(typescript.partition("= ")[2].partition(";\nconst")[0])["commands"] == [LIST, quoted]


def test_a_draft_is_the_text_of_its_lines() -> None:
    assert parse(lines(LIST, READ)).needs == (frozenset(), frozenset({0}))
    escaped = READ | {"id": "read", "params": {"path": f"$${{{LIST['id']}.items}}"}}
    assert parse(lines(LIST, escaped)).needs == (frozenset(), frozenset()), "an escaped text is no reference"
    assert parse("[1]").text == "[1]", "what is no object is left to the check"
    assert parse("").text == ""
    assert parse('{"after": 5, "id": ["x"]}').needs == (frozenset(),)
    many = lines(*({"id": f"s{number}"} for number in range(MAX_BATCH_STEPS + 1)))
    assert (parse(many).text, parse(many).ids) == (many, []), "too many steps are named, and neither drawn nor changed"
    assert Draft([]).with_tool("m", "each").ids == ["step_each"]
    assert Draft([]).with_tool("m", "9.lives").ids == ["step_9_lives"]


def test_another_persons_batch_is_no_draft_even_for_an_administrator(ada: Browser, login: FullIssuer) -> None:
    uma = permissions_of(login)
    head = submission.prepare(uma, [LIST], DEFAULT_OPTIONS, "request-0").submit(uma, Agreement())
    answer = ada.get(f"/workbench?from={head.batch}")
    assert answer["statusCode"] == 404
    assert "list_docs" not in answer["body"]
