"""Requests that are sent again with the same idempotency key: one mechanism for all writing routes."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from mcpist.aws.attributes import unpack
from mcpist.aws.clients import client
from mcpist.aws.table import ledger_table
from mcpist.batch.ledger import ledger
from mcpist.caller import Role
from mcpist.people import directory
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.core.loopback import Reply, Service, json_response, serving
from tests.rest_api.rest_client import Answer, RestClient, handle

NEW = {"owner": "o", "repo": "r", "title": "t"}


@pytest.fixture
def github(rest: RestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:  # noqa: ARG001 - it needs AWS
    """GitHub on loopback, with an account of Uma's, whose role may write."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("github.*",)))
    directory.access_cache.clear()
    held = Credential("t", account_id="7", account_name="uma", owner="user#uma", expires_at=None)
    broker.credential_cache.put(("acme", "uma", ("members",), "github", "", ()), held)
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
    broker.credential_cache.put(("acme", "ada", ("members",), "github", "", ()), held)
    assert create(rest.of("ada")).json["result"]["number"] == 3
    assert len(github.received) == 3


def test_a_key_is_good_for_one_request(rest: RestClient, github: Service) -> None:
    create(rest)
    answer = create(rest, title="other")
    assert (answer.status, answer.json["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert rest.with_headers(idempotency_key="k1").post("/v1/tools/search", {"query": "issue"}).status == 422
    # What no route takes is no use of a key, and a whole path is no name in another one.
    assert rest.with_headers(idempotency_key="k1").send("PUT", "/v1/tools/search").status == 405
    assert rest.with_headers(idempotency_key="k1").send("DELETE", "/v1/grants/confirm").status == 405
    assert rest.with_headers(idempotency_key="k1").post("/v1/nothing", {}).status == 404
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


def test_a_request_that_is_running_is_a_conflict_for_some_seconds(rest: RestClient, github: Service) -> None:
    create(rest)
    table = ledger_table()
    (item,) = table.query("acme#idempotency")
    assert item["expires_at"] > time.time() + 86_000
    table.put({**item, "state": "running", "until": int(time.time()) + 60})
    running = create(rest)
    assert (running.status, running.json["code"], running.headers["retry-after"]) == (409, "CONFLICT", "5")
    assert len(github.received) == 1


def test_the_answer_of_a_request_that_was_lost_is_not_known(rest: RestClient, github: Service) -> None:
    create(rest)
    table = ledger_table()
    (item,) = table.query("acme#idempotency")
    table.put({**item, "state": "running", "until": 1})
    lost = create(rest)
    assert (lost.status, lost.json["code"], "retry-after" in lost.headers) == (409, "CONFLICT", False)
    table.put({**item, "expires_at": 1})
    assert create(rest).json["result"]["number"] == 2
    assert len(github.received) == 2


def test_a_person_whose_permissions_have_changed_gets_no_earlier_result(rest: RestClient, github: Service) -> None:
    create(rest)
    members.put_role("acme", Role("members", modules=NAMES))
    directory.access_cache.clear()
    assert create(rest).json["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert create(rest, "k2").status == 403
    assert len(github.received) == 1


def test_a_request_without_a_key_and_one_that_reads_store_nothing(rest: RestClient) -> None:
    assert rest.with_headers(idempotency_key="k").get("/v1/tools").status == 200
    assert rest.call("rag-list-tags").status == 200
    assert ledger_table().query("acme#idempotency") == []


def test_a_batch_that_is_sent_again_with_its_key_is_the_same(rest: RestClient) -> None:
    keyed, steps = rest.with_headers(idempotency_key="k"), {"commands": [{"module": "rag", "tool": "list_tags"}]}
    first, again = keyed.post("/v1/batches", steps), keyed.post("/v1/batches", steps)
    assert (first.status, again.status, again.json) == (202, 202, first.json)
    assert again.headers == first.headers | {"idempotency-replayed": "true"}
    assert [head.batch for head in ledger.list_recent("acme")[0]] == [first.json["id"]]


def test_a_question_frees_the_key_for_its_answer(rest: RestClient) -> None:
    members.put_role("acme", Role("members", modules=NAMES, allow=("rag.*",), destructive=True))
    directory.access_cache.clear()
    keyed, use = rest.with_headers(idempotency_key="k"), {"parameters": {"path": "old.md"}}
    assert rest.call("rag.put_doc", parameters={"path": "old.md", "content": "# Old"}).status == 200
    for _ in range(2):
        asked = keyed.call("rag.delete_doc", **use)
        assert asked.status == 428
    answered = {**use, "confirmation": asked.json["details"]["confirmation"]}
    first, again = (keyed.call("rag.delete_doc", **answered) for _ in range(2))
    assert (first.status, again.status, again.json) == (200, 200, first.json)


def test_a_batch_whose_start_was_in_doubt_keeps_its_key(rest: RestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="")

    keyed, steps = rest.with_headers(idempotency_key="k"), {"commands": [{"module": "rag", "tool": "list_tags"}]}
    with monkeypatch.context() as patch:
        patch.setattr(client("stepfunctions"), "start_execution", unreachable)
        first = keyed.post("/v1/batches", steps)
    again = keyed.post("/v1/batches", steps)
    assert (first.json["code"], first.json["details"]["may_have_happened"]) == ("STORE_UNAVAILABLE", True)
    assert again.json["details"] == first.json["details"]
    assert [head.batch for head in ledger.list_recent("acme")[0]] == [first.json["details"]["batch"]]


def test_an_answer_that_is_shown_once_is_not_stored(rest: RestClient) -> None:
    keyed = rest.of("ada").with_headers(idempotency_key="k")
    link = keyed.post("/v1/invitations", {"user": "eve"}).json["link"]
    (item,) = ledger_table().query("acme#idempotency")
    assert link.rpartition("/")[2] not in str(unpack(bytes(item["answer"])))
    again = keyed.post("/v1/invitations", {"user": "eve"})
    assert (again.status, again.json["code"]) == (409, "CONFLICT")


def test_a_key_says_nothing_of_a_secret_in_its_body(rest: RestClient) -> None:
    body = {"service": "jira", "key": "s3cret"}
    rest.with_headers(idempotency_key="k").post("/v1/grants", body)
    (item,) = ledger_table().query("acme#idempotency")
    assert "s3cret" not in str(item)


def test_of_concurrent_requests_with_one_key_one_runs(rest: RestClient) -> None:
    steps, together = {"commands": [{"module": "rag", "tool": "list_tags"}]}, threading.Barrier(4)
    event = rest.with_headers(idempotency_key="k").event("POST", "/v1/batches", steps)
    handle(event)  # the first request of a process imports

    def sent(number: int) -> Answer:
        mine = event | {"headers": event["headers"] | {"idempotency-key": f"race {number // 4}"}}
        together.wait()
        return handle(mine)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(sent, range(32)))
    for race in range(8):
        fours = answers[4 * race : 4 * race + 4]
        assert {answer.status for answer in fours} <= {202, 409}
        assert len({answer.json["id"] for answer in fours if answer.status == 202}) == 1
    assert len(ledger.list_recent("acme", limit=50)[0]) == 1 + 8


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_has_a_length(rest: RestClient, key: str) -> None:
    assert create(rest, key).status == 400
