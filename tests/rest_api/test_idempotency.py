"""Writes that are sent again with the same key."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from mcpist.aws.clients import client
from mcpist.aws.table import ledger_table
from mcpist.caller import Role
from mcpist.people import directory
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.core.loopback import Reply, Service, json_response, serving
from tests.rest_api.rest_client import Answer, RestClient

NEW = {"owner": "o", "repo": "r", "title": "t"}


@pytest.fixture
def github(rest: RestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:  # noqa: ARG001 - it needs AWS
    """GitHub on loopback, with an account of Uma's, whose role may write."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("github.*",)))
    directory.access_cache.clear()
    held = Credential("t", account_id="7", account_name="uma", owner="user#uma", expires_at=None)
    broker.credential_cache.put(("acme", "uma", ("members",), "github"), held)
    with serving() as service:
        monkeypatch.setattr(CATALOGUE.module("github"), "host", service.url)
        service.replies = [json_response({"number": number}) for number in (1, 2, 3)]
        yield service


def create(rest: RestClient, key: str = "k1", **changes: Any) -> Answer:
    return rest.with_headers(idempotency_key=key).call("github-create-issue", parameters=NEW | changes)


def test_a_repeated_write_answers_with_the_first_result(rest: RestClient, github: Service) -> None:
    first, again = create(rest), create(rest)
    assert (first.status, first.json["result"]["number"]) == (200, 1)
    assert again.json == first.json
    assert (first.headers.get("idempotency-replayed"), again.headers["idempotency-replayed"]) == (None, "true")
    assert len(github.received) == 1


def test_a_download_answers_with_the_file_that_it_has_stored(rest: RestClient, github: Service) -> None:
    github.replies = [Reply(b"log", headers={"content-type": "text/plain"})]
    job = {"owner": "o", "repo": "r", "job_id": 7}
    answer = rest.call("github-get-job-logs", parameters=job, options={"as_file": True})
    assert (answer.json["result"], answer.json["file"]["size_bytes"]) == (None, 3)


def test_a_deeply_nested_result_is_a_file(rest: RestClient, github: Service) -> None:
    github.replies = [Reply(b'{"number":' + b"[" * 300 + b"]" * 300 + b"}")]
    answer = create(rest)
    assert (answer.status, answer.json["result"]) == (200, None)
    assert answer.json["file"]["size_bytes"] > 600
    assert create(rest).json == answer.json
    assert len(github.received) == 1


def test_another_key_and_another_person_write_again(rest: RestClient, github: Service) -> None:
    create(rest)
    assert create(rest, "k2").json["result"]["number"] == 2
    held = Credential("t", account_id="8", account_name="ada", owner="user#ada", expires_at=None)
    broker.credential_cache.put(("acme", "ada", ("members",), "github"), held)
    assert create(rest.of("ada")).json["result"]["number"] == 3
    assert len(github.received) == 3


def test_a_key_is_good_for_one_request(rest: RestClient, github: Service) -> None:
    create(rest)
    answer = create(rest, title="other")
    assert (answer.status, answer.json["details"]["field"]) == (400, "Idempotency-Key")
    assert len(github.received) == 1


def test_after_an_error_that_wrote_nothing_the_key_is_free(rest: RestClient, github: Service) -> None:
    github.replies = [Reply(b'{"message": "no"}', status=422), json_response({"number": 9})]
    assert create(rest).json["code"] == "TOOL_EXECUTION_ERROR"
    assert create(rest).json["result"]["number"] == 9


def test_an_error_after_a_write_that_may_have_happened_is_kept(rest: RestClient, github: Service) -> None:
    github.replies = [Reply(b"{}", status=500), json_response({"number": 9})]
    first, again = create(rest), create(rest)
    assert first.json["details"]["may_have_happened"] is True
    assert (again.json["code"], again.json["details"]) == (first.json["code"], first.json["details"])
    assert len(github.received) == 1


def test_an_answer_that_could_not_be_stored_after_a_write_frees_no_key(
    rest: RestClient, github: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="")

    sender = rest.with_headers(idempotency_key="k1")
    request = {"parameters": NEW, "options": {"as_file": True}}
    with monkeypatch.context() as patch:
        patch.setattr(client("s3"), "put_object", unreachable)
        first = sender.call("github-create-issue", **request)
    assert (first.json["code"], first.json["details"]["may_have_happened"]) == ("STORE_UNAVAILABLE", True)
    assert sender.call("github-create-issue", **request).json["code"] == "STORE_UNAVAILABLE"
    assert len(github.received) == 1


def test_a_request_that_is_running_or_was_lost_is_a_conflict(rest: RestClient, github: Service) -> None:
    create(rest)
    table = ledger_table()
    (item,) = table.query("acme#idempotency")
    assert item["expires_at"] > time.time() + 86_000
    table.put({**item, "state": "running"})
    assert create(rest).json["code"] == "CONFLICT"
    table.put({**item, "state": "running", "expires_at": 1})
    assert create(rest).json["result"]["number"] == 2
    assert len(github.received) == 2


def test_a_person_who_may_no_longer_write_gets_no_earlier_result(rest: RestClient, github: Service) -> None:
    create(rest)
    members.put_role("acme", Role("members", modules=NAMES))
    directory.access_cache.clear()
    assert create(rest).status == 403
    assert len(github.received) == 1


def test_a_read_needs_no_key(rest: RestClient) -> None:
    answer = rest.with_headers(idempotency_key="k").call("rag-list-tags")
    assert answer.status == 200
    assert ledger_table().query("acme#idempotency") == []


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_has_a_length(rest: RestClient, key: str) -> None:
    assert create(rest, key).status == 400
