import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from mcpist.audit import record as audit
from mcpist.audit import rows as audit_rows
from mcpist.audit import search as audit_search
from mcpist.audit.exports import EXPORTS
from mcpist.audit.record import SHARDS, partition_of
from mcpist.audit.search import Filters
from mcpist.aws import clients
from mcpist.aws.table import ledger_table
from mcpist.caller import ClientInfo, Role
from mcpist.errors import AuditRowNotFound, InvalidRequest, StoreUnavailable
from mcpist.settings import settings
from tests.audit_items import audit_items
from tests.core.sample import caller

pytestmark = pytest.mark.usefixtures("aws")

ADA = replace(caller(Role("members"), Role("writers")), client=ClientInfo("code", "1.2", "c-1"))
EVER: dict[str, Any] = {
    "since": datetime.now(UTC) - timedelta(days=1),
    "until": datetime.now(UTC) + timedelta(days=1),
}


def test_a_row_records_the_user_the_tool_and_the_account(aws: list[str]) -> None:
    audit.record_use(ADA, "shop", "get_item", outcome="succeeded", request="r1", account="uma@shop", batch="b1")
    assert aws == ["PutItem"]
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    (row,) = audit_items("acme")
    kept = row.pop("expires_at") - datetime.now(UTC).timestamp()
    assert 399 < kept / audit.SECONDS_PER_DAY <= 400
    sk = row.pop("sk")
    assert sk.startswith(today)
    shard = row["pk"].rpartition("#")[2]
    assert row == {
        "pk": partition_of("acme", sk),
        "user_key": "acme#uma",
        "service_key": f"acme#shop#{shard}",
        "user": "uma",
        "roles": ["members", "writers"],
        "event": "use",
        "service": "shop",
        "account": "uma@shop",
        "tool": "shop.get_item",
        "outcome": "succeeded",
        "request": "r1",
        "correlation": "",
        "trace": "",
        "batch": "b1",
        "door": "",
        "client_name": "code",
        "client_version": "1.2",
        "client_id": "c-1",
    }


def test_a_row_can_record_an_event_of_a_grant(aws: list[str]) -> None:
    append("refresh", account="uma@shop")
    assert aws == ["PutItem"]
    (row,) = audit_search.find("acme", **EVER).rows
    moment = datetime.fromisoformat(row.pop("time"))
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60
    assert row.pop("id")
    assert row == {
        "user": "uma",
        "roles": ["members"],
        "event": "refresh",
        "service": "shop",
        "account": "uma@shop",
        "tool": "",
        "outcome": "succeeded",
        "request": "r1",
        "correlation": "",
        "trace": "",
        "batch": "",
        "target": "",
        "before": None,
        "after": None,
        "measures": None,
        "change": "",
        "door": "",
        "client_name": "",
        "client_version": "",
        "client_id": "",
    }


def test_rows_expire_after_the_days_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_DAYS", "7")
    settings.cache_clear()
    append("use")
    (item,) = audit_items("acme")
    kept = item["expires_at"] - datetime.now(UTC).timestamp()
    assert 6 < kept / audit.SECONDS_PER_DAY <= 7


# -- finding rows ---------------------------------------------------------------------------------------


def test_rows_are_found_by_user_by_service_or_by_both(aws: list[str]) -> None:
    append("use", request="1")
    append("use", request="2", user="ada")
    append("use", request="3", service="safe")
    append("use", request="4", organization="globex")
    aws.clear()
    assert found() == ["3", "2", "1"]
    assert found(user="uma") == ["3", "1"]
    assert found(service="shop") == ["2", "1"]
    assert found(user="uma", service="safe") == ["3"]
    assert found(user="nobody") == []
    assert set(aws) == {"Query"}


def test_pages_have_no_gap_and_are_not_shifted_by_new_rows() -> None:
    for number in range(7):
        append("use", request=str(number))
    first = audit_search.find("acme", **EVER, limit=3)
    append("use", request="later")
    second = audit_search.find("acme", **EVER, limit=3, cursor=first.cursor)
    third = audit_search.find("acme", **EVER, limit=3, cursor=second.cursor)
    assert [[row["request"] for row in page.rows] for page in (first, second, third)] == [
        ["6", "5", "4"],
        ["3", "2", "1"],
        ["0"],
    ]
    assert third.cursor == ""


def test_a_filtered_page_is_filled_by_several_requests() -> None:
    for number in range(30):
        append("use", request=str(number), service="shop" if number % 10 else "safe")
    page = audit_search.find("acme", **EVER, filters=Filters("uma", "safe"), limit=2)
    assert [row["request"] for row in page.rows] == ["20", "10"]
    rest = audit_search.find("acme", **EVER, filters=Filters("uma", "safe"), limit=2, cursor=page.cursor)
    assert ([row["request"] for row in rest.rows], rest.cursor) == (["0"], "")


@pytest.mark.parametrize(
    "filters", [Filters(), Filters("uma"), Filters(service="shop"), Filters(outcome="succeeded"), Filters(text="SHOP")]
)
def test_rows_are_found_between_two_times_on_different_days(filters: Filters) -> None:
    for day in (1, 2, 3):
        append("use", request=str(day))
        move(moment(day, 12))
    times: dict[str, Any] = {"since": moment(2, 12), "until": moment(3, 12)}
    assert [row["request"] for row in audit_search.find("acme", **times, filters=filters).rows] == ["2"]
    times["until"] = moment(3, 13)
    page = audit_search.find("acme", **times, filters=filters, limit=1)
    assert [row["request"] for row in page.rows] == ["3"]
    assert [row["request"] for row in audit_search.find("acme", **times, filters=filters, cursor=page.cursor).rows] == [
        "2"
    ]


@pytest.mark.parametrize("filters", [Filters(), Filters(tool="shop.get_item"), Filters("uma", text="nothing")])
def test_a_page_costs_a_bounded_number_of_requests_and_goes_on_at_its_cursor(aws: list[str], filters: Filters) -> None:
    append("use", request="old", tool="shop.get_item", client=ClientInfo("nothing"))
    move(moment(1, 12))
    append("use", request="new", tool="shop.get_item", client=ClientInfo("nothing"))
    aws.clear()
    found, cursor, pages = [], "", 0
    while pages == 0 or cursor:
        page = audit_search.find("acme", since=moment(0, 0), until=EVER["until"], filters=filters, cursor=cursor)
        found += [row["request"] for row in page.rows]
        assert len(aws) <= audit_search.MAX_PAGE_REQUESTS
        aws.clear()
        cursor, pages = page.cursor, pages + 1
    assert found == ["new", "old"]
    assert pages <= 6


def test_a_page_costs_one_round_however_many_empty_days_it_goes_back(aws: list[str]) -> None:
    append("use", request="old")
    move(moment(0, 1))
    aws.clear()
    since = datetime.now(UTC) - timedelta(days=430)
    page = audit_search.find("acme", since=since, until=EVER["until"])
    assert ([row["request"] for row in page.rows], page.cursor) == (["old"], "")
    assert aws == ["Query"] * SHARDS


def test_rows_of_one_moment_are_spread_over_all_partitions_and_found_in_order() -> None:
    rows = [audit.keyed(row_item(request=str(n)), "acme", f"2026-11-22T00:00:00#{n:04}") for n in range(40)]
    assert len({row["pk"] for row in rows}) == len({row["service_key"] for row in rows}) == SHARDS
    for row in rows:
        audit.write_row(row)
    times = {"since": datetime(2026, 11, 21, tzinfo=UTC), "until": datetime(2026, 11, 23, tzinfo=UTC)}
    found, cursor, pages = list[str](), "", 0
    while pages == 0 or cursor:
        page = audit_search.find("acme", **times, limit=7, cursor=cursor, filters=Filters(service="shop"))
        found += [row["request"] for row in page.rows]
        cursor, pages = page.cursor, pages + 1
    assert (found, pages) == ([str(n) for n in reversed(range(40))], 6)


@pytest.mark.parametrize("busy", [{"user": "uma", "service": "shop"}, {"user": "ada", "service": "safe"}])
def test_a_rare_service_of_a_busy_user_and_the_reverse_cost_one_round(aws: list[str], busy: dict[str, str]) -> None:
    append("use", request="rare", service="safe")
    move(moment(0, 1))
    for _ in range(30):  # of 100 KB: DynamoDB reads 1 MB a request
        append("change", **busy, target="roles.members", after={"deny": "x" * 100_000})
    aws.clear()
    page = audit_search.find("acme", since=moment(0, 0), until=EVER["until"], filters=Filters("uma", "safe"))
    assert ([row["request"] for row in page.rows], page.cursor) == (["rare"], "")
    assert len(aws) == 1 + SHARDS


def test_what_failed_is_found_without_reading_what_succeeded(aws: list[str]) -> None:
    for outcome in ("succeeded", "AUTHORIZATION_ERROR", "started", "TIMEOUT", "revoked"):
        append("use", request=outcome, outcome=outcome)
    append("use", outcome="TIMEOUT", organization="globex")
    aws.clear()
    assert found(outcome="failed") == ["TIMEOUT", "AUTHORIZATION_ERROR"]
    assert found(outcome="TIMEOUT", user="uma") == ["TIMEOUT"]
    assert found(outcome="failed", user="ada") == []
    assert aws == ["Query"] * (4 + 5 + 5)  # by failure and, where one is given, by user


def test_a_frequent_value_is_found_in_few_rows_and_a_rare_one_by_larger_requests(aws: list[str]) -> None:
    for number in range(60):
        append("use", user="uma", tool="rag.rare" if number == 0 else "rag.get_doc")
    limits: list[int] = []
    clients.client("dynamodb").meta.events.register(
        "provide-client-params.dynamodb.Query", lambda params, **_: limits.append(params.get("Limit", 0))
    )
    for tool, expected in (("rag.get_doc", [False]), ("rag.rare", [False, True])):
        aws.clear()
        limits.clear()
        page = audit_search.find("acme", **EVER, filters=Filters(user="uma", tool=tool), limit=5)
        assert len(page.rows) == (1 if tool == "rag.rare" else 5)
        assert [limit > audit_search.READ_ROWS for limit in limits] == expected


def test_free_text_is_found_in_any_column_and_case() -> None:
    audit.record_change(ADA, action="roles.update", target="roles.members", request="1", after={"deny": ["*.Drop_*"]})
    append("use", request="2", account="Octocat (583231)")
    assert found(text="drop_") == ["1"]
    assert found(text="octoCAT") == ["2"]
    assert found(text="nobody") == []


def test_a_story_has_the_rows_of_one_request_of_its_user() -> None:
    ours = {"correlation": "first", "batch": "b1"}
    for door, change in (("1", {}), ("2", {"event": "refresh"}), ("other", {"correlation": "second"}), ("3", {})):
        audit.write_row(row_item(request=door) | ours | change)
    audit.write_row(row_item(request="ada's", user="ada") | ours)
    (third, *_) = audit_search.find("acme", **EVER, filters=Filters("uma")).rows
    story = audit_search.find_story("acme", third["id"], user="uma")
    assert (story.row, [row["request"] for row in story.rows], story.is_complete) == (third, ["1", "2", "3"], True)
    for wrong in (("acme", third["id"], "ada"), ("globex", third["id"], ""), ("acme", "20260101T000000000000.ab", "")):
        with pytest.raises(AuditRowNotFound):
            audit_search.find_story(*wrong[:2], user=wrong[2])


@pytest.mark.parametrize("pk", ["globex#0", f"acme#{SHARDS}", "acme"])
def test_no_search_shows_a_row_where_no_seal_of_its_organization_covers_it(pk: str) -> None:
    audit.record_use(ADA, "shop", "get_item", outcome="TIMEOUT", request="r1")
    (row,) = audit_items("acme")
    audit.audit_table().put(row | {"pk": pk, "sk": f"{row['sk']}0", "account": "forged"})
    for filters in (Filters(user="uma"), Filters(service="shop"), Filters(outcome=audit_search.FAILED)):
        (found,) = audit_search.find("acme", **EVER, filters=filters).rows
        assert found["account"] == ""
    (told,) = audit_search.find_story("acme", found["id"]).rows
    assert told == found


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": 1_001}, {"cursor": "made up"}, {"cursor": "2026-11-23" + "T" * 1_100}]
)
def test_an_invalid_limit_or_cursor_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        audit_search.find("acme", **EVER, **wrong)


def append(event: audit.Event, **row: Any) -> None:
    """Append a row of the service shop; `row` replaces the usual fields."""
    usual: dict[str, Any] = {"organization": "acme", "user": "uma", "roles": ["members"], "service": "shop"}
    columns = {**usual, "event": event, "account": "", "outcome": "succeeded", "request": "r1", **row}
    audit.write_row(audit.new_row(**columns))


def found(**filters: Any) -> list[str]:
    return [row["request"] for row in audit_search.find("acme", **EVER, filters=Filters(**filters)).rows]


def row_item(**row: Any) -> dict[str, Any]:
    """Return the item of a row of a batch's step."""
    usual: dict[str, Any] = {"organization": "acme", "user": "uma", "roles": [], "service": "shop", "event": "use"}
    return audit.new_row(**{**usual, "account": "", "outcome": "succeeded", "request": "r1", **row})


def moment(day: int, hour: int) -> datetime:
    """Return a time of one of the first days of the month before the last."""
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=45)
    return start + timedelta(days=day, hours=hour)


def move(time: datetime) -> None:
    """Change the time of today's only row."""
    (item,) = (one for one in audit_items("acme") if one["sk"].startswith(f"{datetime.now(UTC):%Y-%m-%d}"))
    audit.audit_table().delete(item["pk"], item["sk"])
    audit.audit_table().put(audit.keyed(item, "acme", f"{audit.timestamp(time)}#x"))


def test_rows_of_the_same_time_do_not_replace_each_other() -> None:
    for _ in range(20):
        audit.record_use(ADA, "shop", "get_item", outcome="succeeded", request="r1")
    assert len(audit_items("acme")) == 20


def test_a_row_never_replaces_one_with_its_key() -> None:
    row = audit.administration_row(ADA, "change", "roles.update", target="roles.members", request="r1")
    for outcome in ("first", "second"):
        audit.write_row({**row, "outcome": outcome})
    rows = audit_items("acme")
    assert sorted(stored["outcome"] for stored in rows) == ["first", "second"]
    assert {stored["sk"][:-8] for stored in rows} == {row["sk"][:-8]}


def test_what_is_kept_of_a_change_is_written_with_its_row_or_the_row_alone_which_then_names_none() -> None:
    item = {"pk": "acme#changes#ada", "sk": "c_1", "id": "c_1"}
    for outcome in ("kept", "not kept"):  # the second time an item has its key
        audit.record_use(ADA, "shop", "buy", kept=[item], change="c_1", outcome=outcome, request="r1")
    assert ledger_table().query("acme#changes#ada") == [item]
    assert sorted((row["outcome"], row.get("change")) for row in audit_items("acme")) == [
        ("kept", "c_1"),
        ("not kept", None),
    ]


def test_a_change_has_its_fields_before_and_after() -> None:
    audit.record_change(ADA, action="modules.disable", target="modules.jira", request="r1", before={"enabled": True})
    (row,) = audit_search.find("acme", **EVER).rows
    assert (row["event"], row["tool"], row["target"], row["before"], row["after"], row["client_name"]) == (
        *("change", "modules.disable", "modules.jira"),
        *({"enabled": True}, None, "code"),
    )


def test_an_export_quotes_what_a_spreadsheet_would_run() -> None:
    audit.record_change(
        ADA, action="users.update", target="users.uma", request="r1", after={"name": "Uma", "roles": []}
    )
    append("use", account='=HYPERLINK("x"), "y"', user="\uff1dcmd()")
    rows = audit_search.find("acme", **EVER).rows
    read = list(csv.DictReader(io.StringIO(EXPORTS["csv"][1](rows, "acme"))))
    assert read[0]["account"] == '\'=HYPERLINK("x"), "y"'
    assert read[0]["user"] == "'\uff1dcmd()"
    assert read[1]["after"] == '{"name": "Uma", "roles": []}'
    assert read[1]["roles"] == "members writers"
    assert [json.loads(line) for line in audit_rows.as_json_lines(rows).splitlines()] == rows


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("x;=1+1", "x;'=1+1"),
        ("x\t@SUM(1)", "x\t'@SUM(1)"),
        ("x\n=1", "x\n'=1"),
        ("-1;-2", "'-1;'-2"),
        ("a=b; c-d", "a=b; c-d"),
    ],
)
def test_no_part_of_an_exported_cell_is_a_formula_where_a_semicolon_separates_cells(name: str, cell: str) -> None:
    row = dict.fromkeys(audit_rows.COLUMNS, "") | {"client_name": name}
    (read,) = csv.DictReader(io.StringIO(EXPORTS["csv"][1]([row], "acme"), newline=""))
    assert read["client_name"] == cell


def test_any_reason_that_a_row_is_not_written_is_an_outage_of_the_audit() -> None:
    boto3.client("dynamodb").delete_table(TableName=settings().audit_table)
    with pytest.raises(StoreUnavailable, match="audit"):
        audit.record_use(ADA, "shop", "get_item", outcome="succeeded", request="r1")
