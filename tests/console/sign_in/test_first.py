"""The first administrator: who logs in with the address that the owner named."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console.sign_in import login
from mcpist import settings
from mcpist.audit import search
from mcpist.caller import Subject
from mcpist.http.browser import BrowserRequest
from mcpist.people import directory
from mcpist.people.identity import AccessToken

ADA = Subject("https://login.example.com", "7f3c")
REQUEST = BrowserRequest({"requestContext": {"requestId": "r-1", "domainName": "mcp.example.com"}})


@pytest.fixture
def named(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack without an organization, whose owner named somebody."""
    assert aws == []
    monkeypatch.setenv("ADMINISTRATOR", "Ada@example.com")
    settings.settings.cache_clear()


def log_in(monkeypatch: pytest.MonkeyPatch, email: str, subject: Subject = ADA) -> list[str]:
    monkeypatch.setattr(login.bearer, "verify", lambda *_: AccessToken(subject, "console", "l-1", email))
    login.create_organization(REQUEST, "token")
    return directory.organizations()


@pytest.mark.usefixtures("named")
def test_who_logs_in_with_the_named_address_administers_the_first_organization(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert log_in(monkeypatch, "ada@example.com") == ["main"]
    caller = directory.identify(ADA)
    assert (caller.organization, caller.user, caller.system_role) == ("main", "ada", "admin")
    assert caller.roles[0].modules == login.NAMES
    now = datetime.now(UTC)
    minute = timedelta(minutes=1)
    found = search.find("main", since=now - minute, until=now + minute, filters=search.Filters(event="change"))
    rows = [row for row in found.rows if row["tool"] == "organization.create"]
    assert {(row["user"], row["outcome"]) for row in rows} == {("operator", "succeeded")}


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("email", ["", "eve@example.com", "ada@example.com.evil.example"])
def test_nobody_else_does(monkeypatch: pytest.MonkeyPatch, email: str) -> None:
    assert log_in(monkeypatch, email) == []


@pytest.mark.usefixtures("named")
def test_nobody_takes_an_organization_over(monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(monkeypatch, "ada@example.com")
    stranger = Subject("https://login.example.com", "other")
    assert log_in(monkeypatch, "ada@example.com", stranger) == ["main"]
    assert [user.subject for user in directory.read("main").users.values()] == [ADA]


@pytest.mark.usefixtures("aws")
def test_without_a_named_address_nobody_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_: Any) -> None:
        raise AssertionError("a token was read")

    monkeypatch.setattr(login.bearer, "verify", unexpected)
    login.create_organization(REQUEST, "token")
