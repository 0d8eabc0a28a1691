"""The first page: for people a dashboard, for programs the state of the server."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console import activity
from console.rendering import environment, texts
from mcpist.audit import record as audit
from mcpist.caller import Caller, ClientInfo, Subject
from mcpist.people import directory
from mcpist.spending import Spending
from mcpist.version import VERSION
from tests import members
from tests.console.conftest import GITHUB_KEY, Browser
from tests.core.loopback import Service
from tests.full_issuer import FullIssuer

UMA = Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", ())


@pytest.fixture
def used(messages: list[dict[str, Any]]) -> Callable[..., None]:
    """Write rows about uses of tools by Uma."""

    def write(outcome: str, times: int = 1, **measures: int) -> None:
        for _ in range(times):
            audit.record_use(UMA, "rag", "search_docs", outcome=outcome, request="r", measures=measures)

    assert messages == []
    return write


def test_a_program_is_told_that_the_server_runs(browser: Browser) -> None:
    answer = browser.send("home", headers={"accept": "*/*"})
    body = json.loads(answer["body"])
    assert (answer["statusCode"], answer["headers"]["content-type"]) == (200, "application/json")
    assert (body["status"], body["message"], body["version"]) == ("ok", "MCP Server is running", VERSION)
    assert body["uptime"] >= 0


def test_a_program_is_led_to_the_list_of_tools(browser: Browser) -> None:
    answer = browser.send(
        "page", rawPath="/tools", query="module=rag", parameters={"page": "tools"}, headers={"accept": "*/*"}
    )
    assert (answer["statusCode"], answer["headers"]["location"]) == (
        302,
        "https://mcp.example.com/v1/tools?module=rag",
    )


def test_a_browser_is_led_to_the_login_and_then_to_the_dashboard(browser: Browser) -> None:
    assert browser.get("/")["statusCode"] == 303
    page = browser.log_in("uma", "/")
    assert page["statusCode"] == 200
    assert "Welcome, Uma" in page["body"]
    assert "Errors and refusals" not in page["body"], "that is for administrators"


def test_a_person_without_a_name_is_greeted_by_the_id(uma: Browser, login: FullIssuer) -> None:
    members.put_user("acme", "uma", name="", subject=Subject(login.issuer, "uma"), roles=["members"])
    assert "Welcome, uma" in uma.get("/")["body"]


def test_the_week_counts_uses_once_and_what_programs_saved(uma: Browser, used: Callable[..., None]) -> None:
    before = activity.week_of("acme", "uma", datetime.now(UTC))
    used("started", 2)
    used("succeeded", 3, tokens_before=1000, tokens_after=100)
    used("TOOL_DISABLED", 2)
    week = activity.week_of("acme", "uma", datetime.now(UTC))
    assert (week.total - before.total, week.failed - before.failed) == (5, 2)
    assert (week.tokens_before - before.tokens_before, week.tokens_after - before.tokens_after) == (3000, 300)
    assert f">{week.total}<" in uma.get("/")["body"]


def test_the_week_is_read_by_one_request_of_bounded_size(
    uma: Browser, used: Callable[..., None], aws: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uma.post("/profile", [("action", "language"), ("language", "en")])  # a row that is no use
    used("succeeded", 8)
    monkeypatch.setattr(activity, "MAX_CHARTED_ROWS", 5)
    aws.clear()
    now = datetime.now(UTC)
    page = activity.newest_uses("acme", "uma", now - timedelta(days=7), now)
    assert aws == ["Query"]
    assert (len(page.rows), bool(page.cursor)) == (5, True)
    assert {row["event"] for row in page.rows} == {"use"}


def test_an_administrator_sees_errors_of_the_whole_organization_by_kind(
    used: Callable[..., None], browser: Browser
) -> None:
    used("RATE_LIMIT_EXCEEDED", 2)
    page = browser.log_in("ada", "/")["body"]
    assert "Errors and refusals of the last day" in page
    assert "<code>RATE_LIMIT_EXCEEDED</code>" in page


def test_an_administrator_sees_limits_of_the_day_and_which_are_near_or_reached(ada: Browser) -> None:
    Spending().reserve_steps("acme", 41_000, time.time())
    page = ada.get("/")["body"]
    assert "Limits of today" in page
    assert "A limit of today is near: Steps of batches" in page
    assert "82 %" in page
    Spending().reserve_steps("acme", 9_000, time.time())
    assert "A limit of today is reached: Steps of batches" in ada.get("/")["body"]


def test_others_see_no_limits_of_the_day(uma: Browser) -> None:
    Spending().reserve_steps("acme", 50_000, time.time())
    assert "Limits of today" not in uma.get("/")["body"]


def test_an_administrator_sees_which_services_did_not_answer_lately(
    used: Callable[..., None], browser: Browser
) -> None:
    before = {one.name: one.count for one in activity.failures_of("acme", datetime.now(UTC)).silent}
    used("UPSTREAM_UNAVAILABLE", 2)
    used("VALIDATION_ERROR")
    assert f"Did not answer {before.get('rag', 0) + 2} times in the last hour" in browser.log_in("ada", "/")["body"]
    later = datetime.now(UTC) + timedelta(hours=activity.SILENT_HOURS, minutes=1)
    assert not activity.failures_of("acme", later).silent


def test_an_administrator_sees_alarms_of_the_last_day_in_both_languages(
    used: Callable[..., None], browser: Browser
) -> None:
    for code in sorted(activity.ALARM_CODES):
        used(code)
    page = browser.log_in("ada", "/")["body"]
    for code in activity.ALARM_CODES:
        assert texts("en")(f"home.alarm_{code}") in page
        assert f'href="/logs?days=1&amp;outcome={code}"' in page
    browser.language = "ja"
    assert texts("ja")("home.alarm_INTEGRITY_ERROR") in browser.get("/")["body"]
    assert not activity.failures_of("acme", datetime.now(UTC) + timedelta(days=1, minutes=1)).alarms


def test_the_first_page_loads_the_adoption_for_an_administrator(used: Callable[..., None], browser: Browser) -> None:
    used("succeeded", 2, tokens_before=1_000, tokens_after=100, execution_time_ms=1_234)
    used("TIMEOUT")
    assert 'hx-get="/adoption" hx-select="#adoption"' in browser.log_in("ada", "/")["body"]
    page = browser.get("/adoption")["body"]
    assert 'id="adoption"' in page
    for cell in ("rag.search_docs", "1,800", "1,234 ms", "TIMEOUT"):
        assert cell in page


def test_adoption_is_for_administrators_alone(uma: Browser) -> None:
    assert "/adoption" not in uma.get("/")["body"]
    assert uma.get("/adoption")["statusCode"] == 403


def test_a_user_sees_no_alarm(uma: Browser, used: Callable[..., None]) -> None:
    used("INTEGRITY_ERROR")
    assert "INTEGRITY_ERROR" not in uma.get("/")["body"]


def test_the_dashboard_of_a_user_names_no_service_that_did_not_answer(uma: Browser, used: Callable[..., None]) -> None:
    used("UPSTREAM_UNAVAILABLE")
    assert "Did not answer" not in uma.get("/")["body"]


@pytest.mark.parametrize("totals", [[0] * 7, [1, 0, 5, 0, 0, 0, 9]])
def test_bars_stay_in_the_picture_and_are_as_high_as_their_values(totals: list[int]) -> None:
    days = [activity.Day(f"2026-11-{16 + day}", min(1, total), max(0, total - 1)) for day, total in enumerate(totals)]
    made = str(environment().get_template("components.html").module.day_bars(days))
    assert re.findall(r">(\d+)</text>", made) == [str(total) for total in totals if total]
    bars = [tuple(map(float, found)) for found in re.findall(r'x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)"', made)]
    assert all(x >= 0 and x + width <= 340 and 18 <= y <= 106 for x, y, width, _ in bars)
    wholes = [height for *_, height in bars[::2]]
    assert wholes == [round(88 * total / max(totals), 1) for total in totals if total]


def test_a_page_asks_aws_a_fixed_number_of_times(
    ada: Browser, aws: list[str], messages: list[dict[str, Any]], used: Callable[..., None]
) -> None:
    counts = []
    ada.get("/")  # a version of the organization is read once
    for times in (1, 30):
        used("succeeded", times)
        aws.clear()
        messages.clear()
        assert ada.get("/")["statusCode"] == 200
        counts.append((len(aws), [message["operation"] for message in messages]))
    assert counts[0] == counts[1]


def first_steps(browser: Browser) -> dict[str, bool]:
    """Return the first steps that a page lists, and whether it says that they are done."""
    page = browser.get("/")["body"]
    listed = re.search(r'<details class="first".*?</details>', page, re.DOTALL)
    found = re.findall(r'<li><a href="(.*?)">(.*?)</li>', listed[0], re.DOTALL) if listed else []
    return {path: "Done" in text for path, text in found}


def test_the_first_steps_check_themselves_and_vanish_when_all_are_done(
    uma: Browser, service: Service, used: Callable[..., None]
) -> None:
    before = first_steps(uma)
    assert list(before) == ["/connect", "/tools?effect=reads", "/workbench", "/profile"], "only administrators invite"
    assert not any(before.values())
    used("succeeded")
    steps = json.dumps({"id": "find", "module": "rag", "tool": "list_tags"})
    uma.post("/workbench", [("action", "run"), ("commands", steps)])
    assert first_steps(uma) == before | {"/tools?effect=reads": True, "/workbench": True}
    client = replace(UMA, client=ClientInfo("an assistant", "1"))
    audit.record_use(client, "rag", "search_docs", outcome="succeeded", request="r")
    assert first_steps(uma)["/profile"]
    uma.submit("/connect/github", having="paste", key=GITHUB_KEY)
    assert first_steps(uma) == {}
    assert len(service.received) == 1


def test_an_administrator_has_invited_when_another_user_is_there(ada: Browser) -> None:
    assert first_steps(ada)["/users?invite=1"], "Uma is a user, too"
    version = directory.read_version("acme")[0]
    ada.post("/users", [("action", "delete"), ("id", "uma"), ("reviewed", str(version))])
    assert first_steps(ada)["/users?invite=1"] is False
