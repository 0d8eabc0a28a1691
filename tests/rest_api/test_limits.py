"""The limits of requests per user, which count those of the REST API as any others."""

import pytest

from mcpist import settings
from mcpist.caller import Caller, Subject
from mcpist.people.in_flight import InFlight
from mcpist.people.quota import request_quota
from tests.audit_items import audit_items
from tests.clock import Clock
from tests.rest_api.rest_client import RestClient


@pytest.fixture
def limited(rest: RestClient, monkeypatch: pytest.MonkeyPatch) -> RestClient:
    """A program whose person has two requests a minute and one in flight; the minute lasts for the whole test."""
    monkeypatch.setattr(request_quota, "clock", Clock())
    for name, value in {"USER_REQUESTS": "2", "USER_CONCURRENCY": "1"}.items():
        monkeypatch.setenv(name, value)
    settings.settings.cache_clear()
    return rest


def test_a_request_beyond_the_minutes_limit_is_refused(limited: RestClient) -> None:
    assert [limited.get("/v1/tools").status, limited.call("rag.list_tags").status] == [200, 200]
    answer = limited.get("/v1/tools")
    assert (answer.status, answer.json["code"], answer.json["details"]["limit"]) == (429, "RATE_LIMIT_EXCEEDED", 2)
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert audit_items("acme")[-1]["tool"] == "limits.requests"
    assert limited.of("ada").get("/v1/tools").status == 200


def test_a_request_beside_too_many_others_is_refused(limited: RestClient) -> None:
    other = Caller("acme", "uma", Subject("", "uma"), "user", ())
    with InFlight().counted(other):
        answer = limited.call("rag.list_tags")
        assert (answer.status, answer.json["code"], answer.headers["retry-after"]) == (429, "RATE_LIMIT_EXCEEDED", "1")
        assert answer.json["details"]["limit"] == 1
        assert limited.of("ada").call("rag.list_tags").status == 200
