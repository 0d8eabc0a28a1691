"""Who may speak to the one port, and what a hook can do to a request."""

import json
import socket

import pytest

from infra.local.front import Front
from infra.local.pool import Sandbox
from infra.local.server import Answer, Hangup, Request
from infra.local.traffic import AwsRequest, Caller, FaultyAnswer, Keyring, Moment
from tests.infra.local.web import request, signed

GET_ITEM = {"X-Amz-Target": "DynamoDB_20120810.GetItem", "Content-Type": "application/x-amz-json-1.0"}


class House:
    """A front before a fake moto, with one client and one sandbox."""

    def __init__(self) -> None:
        self.keyring = Keyring()
        self.sandbox = Sandbox("F-1")
        self.front = Front(self.keyring, {"F-1": (self.sandbox, None)})  # type: ignore[dict-item]
        self.front.moto = self.moto
        self.forwarded: list[Request] = []

    def moto(self, sent: Request) -> Answer:
        self.forwarded.append(sent)
        return Answer(200, (), b"moto")

    def get_item(self, caller: Caller) -> Answer:
        key = self.keyring.issue(caller).access_key
        return self.front(request("POST", "/", body=b'{"TableName": "T"}', headers=signed(key, "dynamodb", **GET_ITEM)))


@pytest.fixture
def house() -> House:
    return House()


def test_a_request_with_issued_credentials_is_forwarded_and_recorded(house: House) -> None:
    assert house.get_item(Caller("F-1", "F")).body == b"moto"
    assert house.front.requests == [AwsRequest("F-1", "F", "dynamodb", "GetItem", {"TableName": "T"})]


def test_who_has_hung_up_is_not_served_in_the_place_of_those_who_wait(house: House) -> None:
    key = house.keyring.issue(Caller("F-1", "F")).access_key
    ours, callers = socket.socketpair()
    with ours, callers:
        asked = request("POST", "/", headers=signed(key, "dynamodb", **GET_ITEM), **{"werkzeug.socket": ours})
        assert house.front(asked).body == b"moto"
        callers.close()
        with pytest.raises(Hangup):
            house.front(asked)
    assert len(house.forwarded) == 1


@pytest.mark.parametrize("service", ["dynamodb", "s3"])
def test_foreign_credentials_are_refused(house: House, service: str) -> None:
    answer = house.front(request("POST", "/", headers=signed("ak", service)))
    assert answer.status == 403
    assert not house.forwarded
    assert not house.front.requests


def test_an_unsigned_request_never_reaches_moto(house: House) -> None:
    assert house.front(request("POST", "/moto-api/reset")).status == 503
    assert house.front(request("GET", "/bucket/key?X-Amz-Signature=1")).status == 403
    assert not house.forwarded


def test_the_inside_wants_the_secret(house: House) -> None:
    inside = f"/{house.front.secret}"
    assert house.front(request("GET", f"{inside}/runtime/F-9/2018-06-01/runtime/invocation/next")).status == 404
    assert house.front(request("GET", f"{inside}/nothing")).status == 404
    assert house.front(request("GET", "/guess/credentials")).status == 503


def test_credentials_are_given_for_a_token_of_this_run(house: House) -> None:
    token = house.keyring.issue(Caller("F-1", "F")).access_key
    path = f"/{house.front.secret}/credentials"
    given = json.loads(house.front(request("GET", path, headers={"Authorization": token})).body)
    assert house.keyring.caller(given["AccessKeyId"]) == Caller("F-1", "F")
    assert house.front(request("GET", path, headers={"Authorization": "other"})).status == 403


def test_a_hook_sees_a_request_before_and_after(house: House) -> None:
    seen: list[tuple[str, Moment, int]] = []
    house.front.on_request = lambda one, moment: seen.append((one.operation, moment, len(house.forwarded)))
    house.get_item(Caller("client"))
    assert seen == [("GetItem", "before", 0), ("GetItem", "after", 1)]


@pytest.mark.parametrize(("when", "forwarded"), [("before", 0), ("after", 1)])
def test_a_faulty_answer_replaces_the_real_one(house: House, when: Moment, forwarded: int) -> None:
    def hook(_: AwsRequest, moment: Moment) -> None:
        if moment == when:
            raise FaultyAnswer(400, {"__type": "ThrottlingException"})

    house.front.on_request = hook
    answer = house.get_item(Caller("client"))
    assert (answer.status, json.loads(answer.body)) == (400, {"__type": "ThrottlingException"})
    assert len(house.forwarded) == forwarded


@pytest.mark.parametrize(("when", "forwarded"), [("before", 0), ("after", 1)])
def test_a_sandbox_killed_by_the_hook_hears_nothing(house: House, when: Moment, forwarded: int) -> None:
    def hook(_: AwsRequest, moment: Moment) -> None:
        if moment == when:
            house.sandbox.gone.set()

    house.front.on_request = hook
    with pytest.raises(Hangup):
        house.get_item(Caller("F-1", "F"))
    assert len(house.forwarded) == forwarded
