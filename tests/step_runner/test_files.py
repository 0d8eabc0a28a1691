"""Files between steps: references to them, and their contents in the place of arguments."""

import json
from base64 import b64decode
from typing import Any

import pytest

from mcpist.aws.clients import client
from mcpist.batch.ledger import ledger
from mcpist.caller import Role
from mcpist.errors import IntegrityError
from mcpist.files import access, storage
from mcpist.memory import forget_entries
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist.settings import settings
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.core.files.callers import caller
from tests.core.loopback import Reply, close_connections, json_response, serving
from tests.step_runner.ledger_batch import PK, Write, enter, entry, error_of, has_settled, outcome

UMA = caller("uma", "members")
DOCS = [{"path": f"{n}.md", "title": f"Guide {n}", "hidden": "x"} for n in range(3)]


def result(step: int) -> Any:
    return ledger.load_json(ledger.get_header(PK), entry(step).result)


@pytest.fixture(autouse=True)
def every_tool(organization: str) -> None:
    """Let uma use every tool."""
    members.put_role(organization, Role("members", modules=NAMES, allow=("*",)))


def test_a_step_asks_the_file_of_another_steps_answer_however_small_it_is(write: Write) -> None:
    params = {"path": "${step0.file}", "expression": "[].title"}
    write(
        ("list_docs", {}, set()),
        ("query", params, {0}),
        ("search_docs", {"query": "${step0.file.sha256}"}, {0}),
        step1={"module": "files"},
    )
    has_settled(0, json.dumps(DOCS).encode())
    enter(step=1)
    assert result(1) == ["Guide 0", "Guide 1", "Guide 2"]
    enter(step=2)
    assert outcome(2) == "succeeded"


def test_the_file_of_a_step_holds_what_its_answer_shows(write: Write) -> None:
    params = {"path": "${step0.file}"}
    write(("list_docs", {}, set()), ("read", params, {0}), step1={"module": "files"})
    has_settled(0, json.dumps(DOCS).encode())
    enter(step=1)
    assert "hidden" not in result(1)["content"]
    write(("list_docs", {}, set()), ("read", params, {0}), step0={"raw_output": True}, step1={"module": "files"})
    has_settled(0, json.dumps(DOCS).encode())
    enter(step=1)
    assert "hidden" in result(1)["content"]


def test_the_content_of_a_file_is_loaded_when_its_step_runs(write: Write) -> None:
    params = {"path": "copy.md", "content": "${step0.file}"}
    write(("get_doc", {"path": "a.md"}, set()), ("put_doc", params, {0}), effect="writes")
    has_settled(0, json.dumps({"path": "a.md", "title": "A", "content": "# A\n\nText."}).encode())
    enter(step=1)
    assert outcome(1) == "succeeded"
    stored = client("s3").get_object(Bucket=settings().files_bucket, Key="rag/acme/docs/copy.md")["Body"].read()
    assert stored == b"# A\n\nText."


def test_what_one_service_sends_is_sent_on_to_another_byte_by_byte(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = b"\x89PNG\xff\x00"
    held = Credential("t", account_id="7", account_name="uma", owner="user#uma", expires_at=None)
    broker.credential_cache.put(("acme", "uma", ("members",), "github", "", ()), held)
    repository = {"owner": "o", "repo": "r"}
    new = {**repository, "path": "b.png", "content": "${step0.file}", "message": "Copy"}
    steps = ("download_file", {**repository, "path": "a.png"}, set()), ("put_file", new, {0})
    write(*steps, effect="writes", step0={"module": "github"}, step1={"module": "github"})
    with serving() as service:
        monkeypatch.setattr(CATALOGUE.module("github"), "host", service.url)
        service.reply_with(Reply(picture, headers={"content-type": "image/png"}), json_response({"content": {}}))
        enter(step=0)
        enter(step=1)
        close_connections()
    assert (outcome(0), outcome(1)) == ("succeeded", "succeeded")
    assert access.load(UMA, result(0)["file"])[1] == picture
    assert b64decode(json.loads(service.received[-1].body)["content"]) == picture


@pytest.mark.parametrize(("retry", "ended"), [(0, "failed"), (1, "succeeded")])
def test_a_step_sends_a_failed_request_again_as_its_line_says(
    write: Write, monkeypatch: pytest.MonkeyPatch, retry: int, ended: str
) -> None:
    held = Credential("t", account_id="7", account_name="uma", owner="user#uma", expires_at=None)
    broker.credential_cache.put(("acme", "uma", ("members",), "github", "", ()), held)
    write(("get_me", {}, set()), step0={"module": "github", "retry": retry, "retry_delay": 0})
    with serving() as service:
        monkeypatch.setattr(CATALOGUE.module("github"), "host", service.url)
        service.reply_with(json_response({"message": "down"}, 503), json_response({"login": "uma", "id": 7}))
        enter(step=0)
        close_connections()
    assert (outcome(0), len(service.received)) == (ended, 1 + retry)


def test_a_file_that_was_changed_in_between_fails_its_step(write: Write) -> None:
    file = access.put(UMA, b"original", "text/plain")
    params = {"query": {"path": file.path, "sha256": file.sha256}}
    write(("search_docs", params, set()))
    client("s3").put_object(Bucket=settings().files_bucket, Key=file.key, Body=b"tampered")
    forget_entries()
    enter()
    assert outcome() == "failed"
    assert isinstance(error_of(entry()), IntegrityError)


def test_a_large_result_that_was_changed_in_the_bucket_is_never_used(write: Write) -> None:
    head = write(("list_docs", {}, set()), ("search_docs", {"query": "${step0.raw[0].title}"}, {0}))
    noise = [{"title": f"{n * 7919 % 104729}"} for n in range(20_000)]
    has_settled(0, json.dumps(noise).encode())
    stored = entry(0).result
    assert stored
    assert stored.file
    path = storage.result_path(head.organization, stored.file["sha256"])
    client("s3").put_object(Bucket=settings().files_bucket, Key=path, Body=b'[{"title":"tampered"}]')
    forget_entries()
    enter(step=1)
    assert isinstance(error_of(entry(1)), IntegrityError)
