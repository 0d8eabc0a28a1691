"""Credentials on the only port, and the effects of a hook on a request."""

import json
import socket

import pytest

from infra.local.invocation import Sandbox
from infra.local.router import KeyHolder, Keyring, RequestRouter, credential_scope
from infra.local.server import DropConnection, LoopbackRequest, LoopbackResponse
from tests.infra.local.web import request, signed
from tests.traffic import AwsRequest, HookPhase, InjectedResponse, Traffic

GET_ITEM = {"X-Amz-Target": "DynamoDB_20120810.GetItem", "Content-Type": "application/x-amz-json-1.0"}
CALLER = KeyHolder("F-1", "F")


class RouterHarness:
    """A router before a fake moto, with one client and one sandbox."""

    def __init__(self) -> None:
        self.keyring = Keyring()
        self.sandbox = Sandbox("F-1")
        self.router = RequestRouter(self.keyring, {"F-1": (self.sandbox, None)})  # type: ignore[dict-item]
        self.router.moto = self.moto
        self.router.observer = self.traffic = Traffic()
        self.forwarded: list[LoopbackRequest] = []

    def moto(self, sent: LoopbackRequest) -> LoopbackResponse:
        self.forwarded.append(sent)
        return LoopbackResponse(200, (), b"moto")

    def get_item(self, caller: KeyHolder) -> LoopbackResponse:
        key = self.keyring.issue(caller)
        return self.router(
            request("POST", "/", body=b'{"TableName": "T"}', headers=signed(key, "dynamodb", **GET_ITEM))
        )


@pytest.fixture
def harness() -> RouterHarness:
    return RouterHarness()


def test_a_request_with_issued_credentials_is_forwarded_and_recorded(harness: RouterHarness) -> None:
    assert harness.get_item(KeyHolder("F-1", "F")).body == b"moto"
    assert harness.traffic.requests == [AwsRequest("F-1", "F", "dynamodb", "GetItem", {"TableName": "T"})]


def test_an_abandoned_request_is_dropped_before_it_is_served(harness: RouterHarness) -> None:
    key = harness.keyring.issue(KeyHolder("F-1", "F"))
    ours, callers = socket.socketpair()
    with ours, callers:
        asked = request("POST", "/", headers=signed(key, "dynamodb", **GET_ITEM), **{"werkzeug.socket": ours})
        assert harness.router(asked).body == b"moto"
        callers.close()
        with pytest.raises(DropConnection):
            harness.router(asked)
    assert len(harness.forwarded) == 1


@pytest.mark.parametrize("service", ["dynamodb", "s3"])
def test_foreign_credentials_are_refused(harness: RouterHarness, service: str) -> None:
    answer = harness.router(request("POST", "/", headers=signed("ak", service)))
    assert answer.status == 403
    assert not harness.forwarded
    assert not harness.traffic.requests


def test_an_unsigned_request_never_reaches_moto(harness: RouterHarness) -> None:
    assert harness.router(request("POST", "/moto-api/reset")).status == 503
    assert harness.router(request("GET", "/bucket/key?X-Amz-Signature=1")).status == 403
    assert not harness.forwarded


def test_internal_paths_need_the_secret(harness: RouterHarness) -> None:
    inside = f"/{harness.router.secret}"
    assert harness.router(request("GET", f"{inside}/runtime/F-9/2018-06-01/runtime/invocation/next")).status == 404
    assert harness.router(request("GET", f"{inside}/nothing")).status == 404
    assert harness.router(request("GET", "/guess/credentials")).status == 503


def test_credentials_are_given_for_a_token_of_this_run(harness: RouterHarness) -> None:
    token = harness.keyring.issue(KeyHolder("F-1", "F"))
    path = f"/{harness.router.secret}/credentials"
    given = json.loads(harness.router(request("GET", path, headers={"Authorization": token})).body)
    assert harness.keyring.get(given["AccessKeyId"]) == KeyHolder("F-1", "F")
    assert harness.router(request("GET", path, headers={"Authorization": "other"})).status == 403


def test_a_hook_sees_a_request_before_and_after(harness: RouterHarness) -> None:
    seen: list[tuple[str, HookPhase, int]] = []
    harness.traffic.on_request = lambda one, moment: seen.append((one.operation, moment, len(harness.forwarded)))
    harness.get_item(KeyHolder("client"))
    assert seen == [("GetItem", "before", 0), ("GetItem", "after", 1)]


@pytest.mark.parametrize(("when", "forwarded"), [("before", 0), ("after", 1)])
def test_a_faulty_answer_replaces_the_real_one(harness: RouterHarness, when: HookPhase, forwarded: int) -> None:
    def hook(_: AwsRequest, moment: HookPhase) -> None:
        if moment == when:
            raise InjectedResponse(400, {"__type": "ThrottlingException"})

    harness.traffic.on_request = hook
    answer = harness.get_item(KeyHolder("client"))
    assert (answer.status, json.loads(answer.body)) == (400, {"__type": "ThrottlingException"})
    assert len(harness.forwarded) == forwarded


@pytest.mark.parametrize(("when", "forwarded"), [("before", 0), ("after", 1)])
def test_a_sandbox_killed_by_the_hook_gets_no_response(harness: RouterHarness, when: HookPhase, forwarded: int) -> None:
    def hook(_: AwsRequest, moment: HookPhase) -> None:
        if moment == when:
            harness.sandbox.exited.set()

    harness.traffic.on_request = hook
    with pytest.raises(DropConnection):
        harness.get_item(KeyHolder("F-1", "F"))
    assert len(harness.forwarded) == forwarded


# -- access keys ----------------------------------------------------------------------------------------


def test_a_signed_request_names_its_key_and_service() -> None:
    assert credential_scope(request("POST", "/", headers=signed("AKIA1", "dynamodb"))) == ("AKIA1", "dynamodb")


def test_a_presigned_request_names_them_in_its_query() -> None:
    credential = "AKIA1%2F20261121%2Fus-east-1%2Fs3%2Faws4_request"
    assert credential_scope(request("GET", f"/b/k?X-Amz-Credential={credential}&X-Amz-Signature=0")) == ("AKIA1", "s3")


@pytest.mark.parametrize("authorization", ["Bearer x", "AWS4-HMAC-SHA256 Credential=x"])
def test_other_requests_have_no_credential(authorization: str) -> None:
    assert credential_scope(request("GET", "/", headers={"Authorization": authorization})) in {None, ("", "")}


def test_keys_are_random_and_only_issued_ones_are_known() -> None:
    keyring = Keyring()
    first, second = keyring.issue(CALLER), keyring.issue(CALLER)
    assert first != second
    assert keyring.get(first) == CALLER
    assert keyring.get("AKIA") is None
