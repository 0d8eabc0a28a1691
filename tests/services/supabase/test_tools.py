"""What the data API is asked, with which key, and what is refused; masks; logs."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest, ToolExecutionError
from mcpist.render.answer import compact
from mcpist.running.accounts import Account
from mcpist.running.broker import Credential
from mcpist.running.send import request_body
from mcpist.tools.declare.call import Call, PartialList, ServiceResponse
from mcpist_services.supabase.tools import supabase
from tests.faults import for_each
from tests.services.answers.supabase import KEYS, ROWS, SECRET, SOURCES, SOURCES_TYPE
from tests.services.conversation import converse, work_of

PROJECT = "abcdefghijklmnopqrst"
ORIGIN = f"https://{PROJECT}.supabase.co"
PUBLISHABLE, ANON, SERVICE_ROLE = KEYS[3]["api_key"], KEYS[1]["api_key"], KEYS[0]["api_key"]
LEGACY = [{"name": "anon", "api_key": ANON}, {"name": "service_role", "api_key": SERVICE_ROLE}]
TOOLS = {
    "select": {},
    "insert": {"rows": [{"a": 1}]},
    "update": {"values": {"a": 1}, "filters": {"id": "eq.7"}},
    "delete": {"filters": {"id": "eq.7"}},
}


work = partial(work_of, supabase, project_ref=PROJECT)


def asked(tool: str, answer: Any = ROWS, keys: Any = KEYS, **arguments: Any) -> Call:
    """What the data API is asked, after the keys."""
    sent, _ = converse(work(tool, **{**TOOLS.get(tool, {}), "table": "orders"} | arguments), keys, answer)
    return sent[1]


def brought(tool: str, answer: Any, **arguments: Any) -> Any:
    return converse(work(tool, **arguments), KEYS, answer)[1]


# -- the key ------------------------------------------------------------------------------------------


def test_the_data_api_gets_the_key_that_the_management_api_returns() -> None:
    arguments = {"columns": ["id", "customer(name)"], "filters": {"status": "eq.open"}, "order": "id.desc", "limit": 9}
    sent, rows = converse(work("select", table="orders", offset=20, schema="shop", **arguments), KEYS, ROWS)
    query = {"status": "eq.open", "select": "id,customer(name)", "order": "id.desc", "limit": 10, "offset": 20}
    headers = {"accept-profile": "shop", "apikey": PUBLISHABLE}
    assert sent[0] == Call("GET", f"/v1/projects/{PROJECT}/api-keys")
    assert sent[1] == Call("GET", "/rest/v1/orders", query, None, headers, ORIGIN)
    assert rows == ROWS


def test_only_a_legacy_key_is_sent_as_a_token_too() -> None:
    assert asked("select").headers == {"apikey": PUBLISHABLE}
    assert asked("select", keys=LEGACY).headers == {"apikey": ANON, "authorization": f"Bearer {ANON}"}


@pytest.mark.parametrize(
    "keys",
    [
        [],
        KEYS[:1],
        [KEYS[2]],
        [{**KEYS[2], "name": "anon"}],
        [{"name": "default", "type": "publishable", "api_key": None}],
        [{"name": "default", "type": "publishable", "api_key": "sb_publishable_0123····"}],
    ],
    ids=["none", "service role", "secret", "a secret key called anon", "hidden", "masked"],
)
def test_a_key_that_bypasses_policies_is_neither_used_nor_shown(keys: list[Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        converse(work("select", table="orders"), keys, ROWS)
    assert refused.value.details["field"] == "project_ref"
    assert not [key for key in keys if (key["api_key"] or "-") in json.dumps(refused.value.as_dict())]


def test_no_answer_of_a_tool_contains_a_key() -> None:
    for tool, arguments in TOOLS.items():
        found = json.dumps(brought(tool, ROWS, table="orders", **arguments))
        assert not [key for key in KEYS if key["api_key"] in found]


def test_the_data_api_gets_no_token_of_the_grant_and_errors_do_not_repeat_the_key() -> None:
    credential = Credential("grant-token", account_id="1", account_name="a", owner="user", expires_at=None)
    account = Account("acme", supabase, credential)
    call = asked("select", keys=LEGACY)
    assert account.url(call) == f"{ORIGIN}/rest/v1/orders"
    assert "grant-token" not in json.dumps(account.headers(call))
    assert ANON in set(account.secrets(call))
    assert account.headers(replace(call, origin=""))["authorization"] == "Bearer grant-token"


@pytest.mark.parametrize("origin", ["https://evil.example", "https://abc.supabase.co", f"{ORIGIN}.evil.example"])
def test_no_other_origin_is_allowed(origin: str) -> None:
    with pytest.raises(ValueError, match="has no origin"):
        Account("acme", supabase, None).url(replace(asked("select"), origin=origin))


@pytest.mark.parametrize("ref", ["abc", "ABCDEFGHIJKLMNOPQRST", "abcdefghijklmnopqrs.", "abcdefghijklmnopqrst\n", ""])
def test_an_invalid_ref_is_refused(ref: str) -> None:
    with pytest.raises(InvalidArguments):
        work("select", table="orders", project_ref=ref)


def test_public_keys_are_shown_whole_with_the_url_and_of_secret_ones_the_first_characters() -> None:
    _, keys = converse(work("get_api_keys"), KEYS)
    assert [key["api_key"] for key in keys] == ["eyJh…", ANON, "sb_secret_0123…", PUBLISHABLE]
    assert {key["url"] for key in keys} == {ORIGIN}
    assert not supabase.tools["get_api_keys"].reveals
    assert [key["name"] for key in keys] == ["service_role", "anon", "default", "default"]
    assert SECRET not in json.dumps(keys)
    assert not [word for key in keys for word in ("hash", "prefix", "secret_jwt_template") if word in key]


def test_a_secret_key_that_somebody_called_anon_is_no_public_one() -> None:
    _, (key,) = converse(work("get_api_keys"), [{"name": "anon", "type": "secret", "api_key": SECRET}])
    assert SECRET not in json.dumps(key)


def test_examples_of_sql_name_their_schema_as_the_read_only_user_needs_it() -> None:
    for tool, argument in (("query", "query"), ("execute_sql", "query"), ("apply_migration", "query")):
        (example, *_) = supabase.tools[tool].examples
        assert "public." in example["parameters"][argument]


def test_advice_is_one_tool_about_security_or_performance() -> None:
    for about in ("security", "performance"):
        assert work("list_advisors", about=about) == Call("GET", f"/v1/projects/{PROJECT}/advisors/{about}")


def test_a_key_without_a_value_is_shown_without_one() -> None:
    _, keys = converse(work("get_api_keys"), [{"name": "a", "api_key": None}, {"name": "b", "api_key": "short"}])
    assert [key["api_key"] for key in keys] == ["…", "…"]


def test_only_the_names_of_secrets_are_shown() -> None:
    _, secrets = converse(work("list_secrets"), [{"name": "SMTP", "value": "5f1e", "updated_at": "2026-01-31"}])
    assert secrets == [{"name": "SMTP", "updated_at": "2026-01-31"}]


# -- pages --------------------------------------------------------------------------------------------


def test_a_cut_list_says_where_it_continues() -> None:
    found = brought("select", ROWS, table="orders", limit=4, offset=8)
    assert found == PartialList(ROWS[:4], "Cut after 4 rows (there are more): go on with offset=12.")


def test_a_list_that_ends_with_its_last_page_is_not_cut() -> None:
    assert brought("select", ROWS, table="orders", limit=5) == ROWS
    assert brought("select", [], table="orders") == []


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 501}, {"offset": -1}])
def test_pages_are_bounded(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidArguments):
        work("select", table="orders", **wrong)


# -- filters ------------------------------------------------------------------------------------------

OPERATORS = [
    "eq.open",
    "eq.",
    "not.eq.open",
    "in.(1,2)",
    "is.null",
    "like.*a*",
    "like(any).{a*,b*}",
    "fts(english).fat & cat",
    "cs.{a}",
    "gte.2026-01-31T09:00:00+00:00",
    "eq.a\nb",
]


@for_each("condition", OPERATORS)
@pytest.mark.parametrize("tool", ["select", "update", "delete"])
def test_operators_of_the_api_are_sent_unchanged(tool: str, condition: str) -> None:
    assert asked(tool, filters={"status": condition}).query["status"] == condition


@for_each("condition", ["open", "", "eq", "=.a", "drop.a", "eq(all.a", "EQ.a", "not.open", []])
@pytest.mark.parametrize("tool", ["select", "update", "delete"])
def test_an_unknown_operator_is_refused(tool: str, condition: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        work(tool, **TOOLS[tool] | {"table": "orders", "filters": {"status": condition}})
    assert refused.value.details["field"] == "filters.status"


def test_several_conditions_of_one_column_and_alternatives_are_sent() -> None:
    filters = {"total": ["gte.10", "lt.20"], "or": "(status.eq.open,status.is.null)"}
    assert asked("delete", filters=filters).query == filters


@pytest.mark.parametrize("tool", ["update", "delete"])
def test_a_change_of_all_rows_is_refused(tool: str) -> None:
    arguments = {name: value for name, value in TOOLS[tool].items() if name != "filters"}
    for filters in ({"filters": {}}, {}):
        with pytest.raises(InvalidArguments):
            work(tool, table="orders", **arguments, **filters)
    with pytest.raises(InvalidRequest):
        supabase.tools[tool].function(PROJECT, "orders", **arguments, filters={})


@for_each(
    "column",
    ["select", "columns", "on_conflict", "order", "limit", "offset", "apikey", "apiKey", "", "customer.order"],
)
@pytest.mark.parametrize("tool", ["select", "update", "delete"])
def test_a_reserved_name_is_refused_as_a_column(tool: str, column: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        work(tool, **TOOLS[tool] | {"table": "orders", "filters": {column: "eq.1"}})
    assert refused.value.details["field"] == f"filters.{column}"


@pytest.mark.parametrize("column", ['"order"', '"a.b"', "data->>order", "Größe"])
def test_a_column_with_a_reserved_name_can_be_quoted(column: str) -> None:
    assert asked("delete", filters={column: "eq.1"}).query == {column: "eq.1"}


@pytest.mark.parametrize("column", ["and", "or"])
@pytest.mark.parametrize("condition", ["eq.1", "()", "(a.eq.1", ""])
def test_alternatives_need_parentheses(column: str, condition: str) -> None:
    with pytest.raises(InvalidRequest):
        work("delete", table="orders", filters={column: condition})


def test_rows_of_another_table_can_filter_reads_but_not_changes() -> None:
    assert asked("select", filters={"customer.name": "eq.Ada"}).query["customer.name"] == "eq.Ada"
    with pytest.raises(InvalidRequest):
        work("delete", table="orders", filters={"customer.name": "eq.Ada"})


@pytest.mark.parametrize(
    ("table", "path"), [("a b", "a%20b"), ("../auth", None), ("a/b?x=1#y", "a%2Fb%3Fx%3D1%23y"), ("..", None)]
)
def test_a_table_cannot_leave_its_place_in_the_path(table: str, path: str | None) -> None:
    if path:
        assert asked("select", table=table).path == f"/rest/v1/{path}"
        return
    with pytest.raises(InvalidRequest):
        work("select", table=table)


def test_a_schema_cannot_inject_headers() -> None:
    with pytest.raises(InvalidArguments):
        work("select", table="orders", schema="a\r\nauthorization: x")


# -- writing ------------------------------------------------------------------------------------------


def test_rows_are_inserted_as_they_are() -> None:
    call = asked("insert", rows=[{"name": "Ada"}, {"name": "Bob"}])
    headers = {"prefer": "return=representation", "apikey": PUBLISHABLE}
    assert call == Call("POST", "/rest/v1/orders", {}, [{"name": "Ada"}, {"name": "Bob"}], headers, ORIGIN)


def test_rows_with_different_columns_list_them_all_so_that_defaults_apply() -> None:
    call = asked("insert", rows=[{"name": "Ada"}, {"name": "Bob", 'a "b", c': 1}])
    assert call.query == {"columns": '"name","a \\"b\\", c"'}
    assert call.headers["prefer"] == "return=representation, missing=default"


def test_rows_are_replaced_by_their_key_or_by_other_columns() -> None:
    prefer = "return=representation, resolution=merge-duplicates"
    assert asked("insert", upsert=True).headers["prefer"] == prefer
    assert asked("insert", upsert=True, on_conflict=["a", "b"]).query == {"on_conflict": "a,b"}
    with pytest.raises(InvalidRequest):
        work("insert", table="orders", rows=[{"a": 1}], on_conflict=["a"])


def test_written_rows_are_returned_only_on_request() -> None:
    assert asked("update", returning=["id", "name"]).query == {"id": "eq.7", "select": "id,name"}
    silent = asked("update", None, returning=[])
    assert (silent.query, silent.headers["prefer"]) == ({"id": "eq.7"}, "return=minimal")
    assert brought("delete", None, table="orders", filters={"id": "eq.7"}, returning=[]) == {"done": True}


@pytest.mark.parametrize(("tool", "method", "body"), [("update", "PATCH", {"a": 1}), ("delete", "DELETE", None)])
def test_a_change_affects_at_most_the_allowed_number_of_rows(tool: str, method: str, body: Any) -> None:
    call = asked(tool, max_affected=3, schema="shop")
    prefer = "return=representation, handling=strict, max-affected=3"
    headers = {"content-profile": "shop", "prefer": prefer, "apikey": PUBLISHABLE}
    assert call == Call(method, "/rest/v1/orders", {"id": "eq.7"}, body, headers, ORIGIN)


def test_a_column_can_be_set_to_null() -> None:
    assert asked("update", values={"closed": None}).json == {"closed": None}


def test_a_function_is_called_with_its_arguments() -> None:
    sent, _ = converse(work("rpc", function="close_orders", args={"before": "2026-01-31"}), KEYS, 3)
    body, headers = {"before": "2026-01-31"}, {"apikey": PUBLISHABLE}
    assert sent[1] == Call("POST", "/rest/v1/rpc/close_orders", {}, body, headers, ORIGIN)


@pytest.mark.parametrize(
    ("answer", "found"), [(3, {"result": 3}), (None, {"result": None}), ({"a": 1}, {"a": 1}), (ROWS, ROWS)]
)
def test_a_function_may_return_rows_an_object_or_one_value(answer: Any, found: Any) -> None:
    assert brought("rpc", answer, function="f") == found


def test_rows_of_any_columns_become_a_table() -> None:
    shown = compact(ROWS, supabase.tools["select"].shows)
    assert shown.splitlines()[:2] == ["items*{status}: open", "items[5]{id,customer{name}}:"]


# -- logs and types -----------------------------------------------------------------------------------


def logs(**arguments: Any) -> Call:
    return next(work("get_logs", service="auth", **arguments))


def test_logs_are_read_of_the_last_hour_if_no_time_is_given() -> None:
    query = logs().query
    start, end = (datetime.fromisoformat(query[f"iso_timestamp_{word}"]) for word in ("start", "end"))
    assert end - start == timedelta(hours=1)
    assert abs(datetime.now(UTC) - end) < timedelta(minutes=5)


def test_logs_are_read_of_the_hour_before_an_end() -> None:
    assert logs(iso_timestamp_end="2026-01-31T00:30:00Z").query["iso_timestamp_start"] == "2026-01-30T23:30:00Z"


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00Z"),
        ("2026-01-31T09:00:00Z", "2026-01-30T09:00:00Z"),
        ("2026-01-31T09:00:00Z", "2026-02-01T09:00:01Z"),
        ("2026-01-31T09:00:00Z", "2026-02-30T09:00:00Z"),
        ("2026-13-31T09:00:00Z", "2026-02-01T09:00:00Z"),
        ("2026-01-31T09:00:00Z", None),
    ],
    ids=["empty", "backwards", "too long", "no such end", "no such start", "until now"],
)
def test_a_period_for_which_logs_would_be_incomplete_is_refused(start: str, end: str | None) -> None:
    with pytest.raises(InvalidRequest):
        logs(iso_timestamp_start=start, **({"iso_timestamp_end": end} if end else {}))


@pytest.mark.parametrize("error", ["Backend error! Retry your query.", {"message": "Backend error!", "code": 500}])
def test_a_failure_of_the_logs_in_a_successful_answer_is_an_error(error: Any) -> None:
    with pytest.raises(ToolExecutionError, match="Backend error!"):
        converse(work("get_logs", service="api"), {"result": None, "error": error})


def test_cut_logs_say_so() -> None:
    lines = {"result": [{"message": "a"}, {"message": "b"}], "error": None}
    _, found = converse(work("get_logs", service="api", limit=2), lines)
    assert found == PartialList(lines, "Cut after 2 lines: raise limit, or end before the last one shown.")
    assert converse(work("get_logs", service="api", limit=3), lines)[1] == lines


def test_types_are_shown_as_code_and_kept_as_the_files_plain_text() -> None:
    _, found = converse(work("generate_types"), {"types": "export type A = 1\n"})
    assert found["types"] == "export type A = 1\n"
    assert compact(found, supabase.tools["generate_types"].shows) == "```typescript\nexport type A = 1\n```"


def test_a_function_is_deployed_from_all_its_files_at_once() -> None:
    files = [{"path": "index.ts", "content": "設計"}, {"path": "lib/a.ts", "content": "a"}]
    call = work("deploy_function", function_slug="send-mail", files=files, verify_jwt=False)
    assert (call.path, call.query) == (f"/v1/projects/{PROJECT}/functions/deploy", {"slug": "send-mail"})
    metadata = {"name": "send-mail", "entrypoint_path": "index.ts", "verify_jwt": False}
    assert json.loads(call.multipart["metadata"]) == metadata
    body = request_body(call)["content"]
    assert body.count(b'name="file"; filename="index.ts"') == body.count(b'name="file"; filename="lib/a.ts"') == 1
    assert "設計".encode() in body


def test_the_files_of_a_function_are_read_from_their_parts() -> None:
    answer = ServiceResponse(200, {"content-type": SOURCES_TYPE}, SOURCES)
    sent, files = converse(work("get_function_code", function_slug="send-mail"), answer)
    assert sent[0].headers == {"accept": "multipart/form-data"}
    assert files == [{"path": "index.ts", "content": "Deno.serve(() => new Response('設計'))\n"}]
    bundle = ServiceResponse(200, {"content-type": "application/octet-stream"}, "ESZIP")
    with pytest.raises(ToolExecutionError, match="without its source files"):
        converse(work("get_function_code", function_slug="send-mail"), bundle)


def test_the_documentation_is_asked_at_its_own_origin_without_the_token() -> None:
    search = partial(work_of, supabase, "search_docs", query="rls")
    page = {"title": "RLS", "href": "https://supabase.com/docs/rls", "content": "x" * 9_000}
    sent, found = converse(search(), {"data": {"searchDocs": {"nodes": [page]}}})
    assert (sent[0].origin, sent[0].json["variables"]) == ("https://supabase.com", {"query": "rls", "limit": 5})
    assert sent[0].origin not in supabase.token_origins
    assert len(found["nodes"][0]["content"]) == 4_000
    with pytest.raises(ToolExecutionError, match="too busy"):
        converse(search(), {"errors": [{"message": "too busy"}]})


def test_a_new_project_has_a_password_that_nobody_sees() -> None:
    call = work_of(supabase, "create_project", name="orders", organization="https://supabase.com/dashboard/org/acme")
    assert call.json["organization_slug"] == "acme"
    assert call.json["db_pass"] == "<a random password>"
    first, second = (request_body(call)["json"]["db_pass"] for _ in range(2))
    assert len(first) > 40
    assert first != second
