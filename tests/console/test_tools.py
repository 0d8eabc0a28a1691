"""The page of tools: the search, the filters, the panel of a tool, trying it, and the switches of administrators."""

import gzip
import re
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from console.tools.trying import arguments_of, fields_of
from mcpist.caller import Caller, Role, Subject
from mcpist.people import directory
from mcpist.people.in_flight import InFlight
from mcpist.settings import settings
from mcpist.tools.declare.parameters import parameters_of
from mcpist_services import NAMES
from tests import members
from tests.console.conftest import Browser, audited

SCHEMA = {
    "type": "object",
    "required": ["q"],
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer"},
        "share": {"type": "number"},
        "all": {"type": "boolean"},
        "order": {"type": "string", "enum": ["asc", "desc"]},
        "labels": {"type": "array", "items": {"type": "string"}},
        "fields": {"type": "object"},
    },
}


def names(answer: dict[str, Any]) -> list[str]:
    """Return the tools in the list of a page, in its order."""
    found = re.search(r'<ul class="rows tools">(.*?)</ul>', answer["body"], re.DOTALL)
    return re.findall(r"<b>(.*?)</b>", found[1]) if found else []


def search(browser: Browser, **query: str) -> list[str]:
    return names(browser.get(f"/tools?{urlencode(query)}"))


def test_a_task_finds_its_tools_best_first(uma: Browser) -> None:
    assert search(uma, q="search my documents")[0] == "rag.search_docs"
    assert "rag.search_docs" in search(uma, q="文書を検索する")


def test_filters_narrow_the_list_and_can_be_combined(uma: Browser) -> None:
    assert all(name.startswith("rag.") for name in search(uma, module="rag"))
    reading = search(uma, module="rag", effect="reads")
    assert reading
    assert search(uma, module="rag", effect="reads", enabled="no") == []
    assert set(search(uma, q="documents", module="rag", effect="reads")) <= set(reading)


def test_a_japanese_reader_sees_japanese_descriptions(uma: Browser) -> None:
    uma.language = "ja"
    assert "予定 1 件の日時、場所、参加者、説明を読む。" in uma.get("/tools?module=google_calendar")["body"]
    panel = uma.get("/tools?tool=google_calendar.get_event")["body"]
    assert panel.count("予定 1 件の日時、場所、参加者、説明を読む。") == 1
    assert "list_events が示す id、例: 7k3f9q0m2a" in panel


def test_only_tools_whose_account_is_connected_are_found_by_that_filter(uma: Browser) -> None:
    assert search(uma, module="github", connected="yes") == []
    assert search(uma, module="github", connected="no")
    assert search(uma, module="rag", connected="no") == [], "it needs no account"


def test_a_value_that_no_filter_has_is_refused(uma: Browser) -> None:
    for query in ({"effect": "x"}, {"page": "0"}, {"page": "1" * 9}, {"connected": "maybe"}):
        assert uma.get(f"/tools?{urlencode(query)}")["statusCode"] == 400, query


def test_a_page_after_the_last_is_empty(uma: Browser) -> None:
    assert search(uma, page="999") == []


def test_the_panel_shows_how_a_tool_is_called(uma: Browser) -> None:
    page = uma.get("/tools?tool=rag.search_docs")["body"]
    for text in ("POST /v1/tools/call", "&#34;module&#34;: &#34;rag&#34;", "additionalProperties", "Try it"):
        assert text in page


def test_what_waits_is_counted_as_in_flight(uma: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER_CONCURRENCY", "1")
    settings.cache_clear()
    form = [("action", "try"), ("tool", "files.list"), ("arg.limit", "5")]
    with InFlight().counted(Caller("acme", "uma", Subject("", "uma"), "user", ())):
        assert uma.post("/tools", form)["statusCode"] == 429
        assert uma.get("/tools")["statusCode"] == 200


def test_a_reading_tool_is_tried_through_the_gate_with_an_audit_row(uma: Browser) -> None:
    form = [("action", "try"), ("tool", "files.list"), ("arg.limit", "5")]
    page = uma.post("/tools", form)["body"]
    assert "What a model reads" in page
    assert re.search(r"About \d+ tokens instead of \d+", page)
    rows = audited(user="uma", tool="files.list")
    assert [row["outcome"] for row in rows] == ["succeeded"]


def test_a_wrong_argument_leaves_the_form_filled_and_runs_nothing(uma: Browser) -> None:
    page = uma.post("/tools", [("action", "try"), ("tool", "files.list"), ("arg.limit", "many")])["body"]
    assert "Write a number." in page
    assert 'value="many"' in page
    page = uma.post("/tools", [("action", "try"), ("tool", "files.list"), ("arg.limit", "100000")])["body"]
    assert "VALIDATION_ERROR" in page
    assert 'value="100000"' in page


def test_a_tool_that_writes_cannot_be_tried(uma: Browser) -> None:
    members.put_role("acme", Role("members", modules=NAMES, allow=("rag.*",), destructive=True))
    directory.access_cache.clear()
    assert "Try it" not in uma.get("/tools?tool=rag.delete_doc")["body"]
    answer = uma.post("/tools", [("action", "try"), ("tool", "rag.delete_doc"), ("arg.path", "a.md")])
    assert answer["statusCode"] == 400


def test_the_panel_says_why_a_tool_cannot_be_used_and_who_can_change_it(uma: Browser) -> None:
    refused = uma.get("/tools?tool=rag.delete_doc")["body"]
    assert "mcpist role set" not in refused, "a command of administrators"
    assert "Why you cannot use this tool" in refused
    assert "An administrator of your organization can change this." in refused
    lacking = uma.get("/tools?tool=github.list_issues")["body"]
    assert re.search(r'<li class="no">\s*<b>An account is connected', lacking)
    assert "You can use this tool" in uma.get("/tools?tool=rag.search_docs&why=1")["body"]


def test_an_administrator_reads_the_command_that_permits_a_tool(ada: Browser) -> None:
    assert "mcpist role set" in ada.get("/tools?tool=rag.delete_doc&why=1&user=uma")["body"]


def test_an_unknown_tool_and_one_of_no_role_read_the_same_for_a_user(uma: Browser) -> None:
    members.put_role("acme", Role("members", modules=("rag",)))
    directory.access_cache.clear()
    page = uma.get("/tools?tool=jira.search")["body"]
    assert "Why you cannot use this tool" in page
    assert "members" not in page, "no role is named"


def test_an_administrator_switches_a_tool_off_and_on_again(ada: Browser) -> None:
    off = ada.submit("/tools?tool=rag.search_docs", having="disable")
    assert "done=tool_disabled" in off["headers"]["location"]
    directory.access_cache.clear()
    page = ada.get("/tools?tool=rag.search_docs")["body"]
    assert "switched off" in page
    assert "Try it" not in page
    assert search(ada, q="rag.search_docs", enabled="no") == ["rag.search_docs"]
    ada.submit("/tools?tool=rag.search_docs", having="enable")
    directory.access_cache.clear()
    assert "Try it" in ada.get("/tools?tool=rag.search_docs")["body"]
    rows = audited(user="ada", event="change")
    assert {row["tool"] for row in rows} == {"modules.disable", "modules.enable"}


def test_an_administrator_switches_a_module_off(ada: Browser) -> None:
    ada.submit("/tools?module=rag", having="disable")
    directory.access_cache.clear()
    assert search(ada, module="rag", enabled="yes") == []


def test_a_user_cannot_switch_anything_and_leaves_a_row(uma: Browser) -> None:
    assert ">Switch off<" not in uma.get("/tools?tool=rag.search_docs&module=rag")["body"]
    for name in ("rag", "rag.search_docs"):
        answer = uma.post("/tools", [("action", "disable"), ("name", name), ("back", "tool")])
        assert answer["statusCode"] == 403
    rows = audited(user="uma", outcome="AUTHORIZATION_ERROR")
    assert len(rows) == 2


def test_the_panel_connects_an_account(uma: Browser) -> None:
    page = uma.get("/tools?connect=github")["body"]
    assert 'action="/connect/github"' in page
    assert uma.get("/tools?connect=nothing")["statusCode"] == 404


def test_pages_of_tools_stay_small_and_their_requests_the_same(uma: Browser, aws: list[str]) -> None:
    counted = []
    for query in ("", "?q=issue", "?module=github&page=2", "?tool=rag.search_docs"):
        uma.get(f"/tools{query}")
        aws.clear()
        page = uma.get(f"/tools{query}")["body"]
        counted.append(sorted(aws))
        assert len(gzip.compress(page.encode())) < 15_000
    assert all(requests == counted[0] for requests in counted), counted


def test_what_a_person_types_comes_back_as_text(uma: Browser) -> None:
    for text in ('"><script>alert(1)</script>', "'\"><svg onload=x>", "\u202ekcab", "{{7*7}}"):
        pages = [uma.get(f"/tools?{urlencode({name: value})}")["body"] for name, value in typed(text)]
        form = [("action", "try"), ("tool", "rag.search_docs"), ("arg.query", text)]
        for page in (*pages, uma.post("/tools", form)["body"]):
            assert "<script>alert" not in page
            assert "<svg onload" not in page


def typed(text: str) -> list[tuple[str, str]]:
    return [("q", text), ("module", text), ("tag", text), ("tool", f"rag.{text}"), ("connect", text)]


def test_fields_become_arguments_of_their_types() -> None:
    sent = {"q": "x", "limit": "5", "share": "0.5", "all": "false", "order": "asc", "labels": '["a"]', "fields": ""}
    fields = fields_of(parameters_of(SCHEMA), lambda name: sent[name.removeprefix("arg.")], {})
    expected = {"q": "x", "limit": 5, "share": 0.5, "all": False, "order": "asc", "labels": ["a"]}
    assert arguments_of(fields) == expected
    assert [field.kind for field in fields] == ["text", "number", "number", "choice", "choice", "json", "json"]


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("limit", "x", "not_a_number"),
        ("limit", "nan", "not_a_number"),
        ("limit", "1e999", "not_a_number"),
        ("labels", "{}", "not_json"),
        ("fields", "[", "not_json"),
        ("fields", "[" * 100_000, "not_json"),
    ],
)
def test_a_value_that_no_argument_can_have_is_a_problem_of_its_field(name: str, value: str, problem: str) -> None:
    fields = fields_of(parameters_of(SCHEMA), lambda field: value if field == f"arg.{name}" else "", {})
    assert [field.problem for field in fields if field.problem] == [problem]
    assert arguments_of(fields) == {}


def test_a_form_begins_with_an_example_call() -> None:
    fields = fields_of(parameters_of(SCHEMA), None, {"q": "is:open", "labels": ["bug", "不具合"]})
    assert arguments_of(fields) == {"q": "is:open", "labels": ["bug", "不具合"]}
    assert [field.value for field in fields if field.value] == ["is:open", '["bug", "不具合"]']


def test_links_keep_the_search_and_the_filters(uma: Browser) -> None:
    page = uma.get("/tools?q=documents&effect=reads")["body"]
    links = re.findall(r'<li><a href="(/tools\?[^"]*)#panel"', page)
    assert links
    assert all("q=documents" in urlsplit(link).query and "effect=reads" in link for link in links)
