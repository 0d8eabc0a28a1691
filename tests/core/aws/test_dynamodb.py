"""DynamoDB's JSON over HTTP: what is sent again, and what is an error."""

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.session import get_session

from infra.local.names import REGION
from infra.local.server import DropConnection, LoopbackResponse
from mcpist.aws.clients import AwsError, ConditionFailed
from mcpist.aws.dynamodb import HttpTransport, endpoint_url
from mcpist.aws.table import IS_NEW, Table, ledger_table
from mcpist.aws.transport import send_by_botocore, transport
from mcpist.errors import StoreUnavailable
from mcpist.memory import forget_all
from tests.core.aws.service import Service, ok, refused, serving
from tests.mocked_aws import LOADER

ITEM = {"pk": "a", "sk": "b", "n": 1, "f": 1.5, "t": "ü😀", "b": b"\x00\xff", "l": [1, None, {"x": True}], "m": {}}


@pytest.fixture
def table(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:  # noqa: ARG001 - moto's tables
    """A table as functions reach it, in moto."""
    from infra.local.moto_backend import Moto

    with serving(Moto()) as url, in_a_function(url, monkeypatch):
        yield ledger_table()


@contextmanager
def in_a_function(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Send requests as functions do, to a server that takes AWS's part."""
    for name, value in (
        ("AWS_LAMBDA_FUNCTION_NAME", "f"),
        ("AWS_REGION", REGION),
        ("AWS_ENDPOINT_URL", url),
        ("AWS_ACCESS_KEY_ID", "ak"),
        ("AWS_SECRET_ACCESS_KEY", "sk"),
    ):
        monkeypatch.setenv(name, value)
    transport.cache_clear()
    used = transport()
    assert isinstance(used, HttpTransport)
    yield
    used.connections.close()
    transport.cache_clear()


def test_every_operation_of_a_table_works_over_http(table: Table) -> None:
    table.put(ITEM)
    assert table.get("a", "b") == ITEM
    assert table.get("a", "c") is None
    assert table.update("a", "b", "SET #n = :n", values={":n": 2})["n"] == 2
    table.put_many([{"pk": "p", "sk": f"{n:03}", "text": "t" * 30_000} for n in range(60)])
    assert [item["sk"] for item in table.query("p")] == [f"{n:03}" for n in range(60)]
    assert len(table.get_many([("p", f"{n:03}") for n in range(70)])) == 60
    assert [item["sk"] for item in table.query_page("pk", "p", ("001", "9"), limit=2)[0]] == ["001", "002"]
    assert {item["pk"] for item in table.scan("p")} == {"p"}
    assert table.delete("a", "b")
    assert not table.delete("a", "b")


def test_conditions_over_http_are_typed_errors(table: Table) -> None:
    table.put({"pk": "a", "sk": "b"}, condition=IS_NEW)
    with pytest.raises(ConditionFailed):
        table.put({"pk": "a", "sk": "b"}, condition=IS_NEW)
    guard: Any = {"guard": {"pk": "a", "sk": "b", "n": 1}, "condition": IS_NEW, "values": {}}
    assert not table.transact([{"pk": "a", "sk": "c"}], [], **guard)
    assert table.get("a", "c") is None
    with pytest.raises(AwsError) as missing:
        Table("nowhere", "ledger").get("a", "b")
    assert missing.value.code == "ResourceNotFoundException"


def test_a_transaction_whose_answer_was_lost_is_sent_again_as_the_same_one(
    service: Service, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.answers = [DropConnection(), ok()]
    with in_a_function(url, monkeypatch):
        for _ in range(2):
            assert Table("T", "ledger").transact([], [], guard=ITEM, condition=IS_NEW, values={})
    first, again, other = (json.loads(request.body)["ClientRequestToken"] for request in service.received)
    assert first == again != other


def test_requests_outside_of_a_function_are_botocores(aws: list[str]) -> None:
    assert transport() is send_by_botocore
    ledger_table().get("a", "b")
    assert aws == ["GetItem"]


@pytest.mark.parametrize(
    ("name", "value"), [("AWS_USE_FIPS_ENDPOINT", "true"), ("AWS_CA_BUNDLE", "/ca"), ("HTTPS_PROXY", "http://proxy")]
)
def test_a_function_that_reaches_aws_in_another_way_uses_botocore(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "HTTPS_PROXY", "https_proxy", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    monkeypatch.setenv("AWS_REGION", REGION)
    forget_all()
    assert isinstance(transport(), HttpTransport)
    monkeypatch.setenv(name, value)
    forget_all()
    assert transport() is send_by_botocore
    forget_all()


def test_the_endpoints_are_those_of_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    session = get_session()
    session.register_component("data_loader", LOADER)
    partitions = ("aws", "aws-cn", "aws-us-gov", "aws-eusc")
    regions = [name for partition in partitions for name in session.get_available_regions("dynamodb", partition)]
    assert len(regions) > 30
    for region in regions:
        assert endpoint_url(region) == session.create_client("dynamodb", region).meta.endpoint_url, region


@pytest.mark.parametrize(
    "failure",
    [
        refused("InternalServerError", 500),
        LoopbackResponse(502, (), b"<html>"),
        refused("ThrottlingException"),
        refused("ProvisionedThroughputExceededException"),
        refused("RequestLimitExceeded"),
        LoopbackResponse(429),
        DropConnection(),
        LoopbackResponse(200, (("x-amz-crc32", "1"),), b"{}"),
    ],
    ids=lambda failure: getattr(failure, "body", b"reset").decode()[:40] or str(failure.status),
)
def test_a_passing_failure_is_tried_again_and_then_an_outage(service: Service, url: str, failure: Any) -> None:
    service.answers = [failure, failure, ok(Item={})]
    assert service.send(url=url) == {"Item": {}}
    assert len(service.received) == 3
    assert len({request.body for request in service.received}) == 1
    service.answers = [failure]
    with pytest.raises(StoreUnavailable) as outage:
        service.send(url=url, attempts=2)
    assert outage.value.details["store"] == "ledger"
    assert len(service.received) == 5


def test_a_throttled_request_waits_longer_than_one_that_met_an_error(service: Service, url: str) -> None:
    service.answers = [refused("ThrottlingException"), refused("InternalServerError", 500), ok()]
    service.send(url=url)
    first, second = service.pauses
    assert 0 <= first <= 1
    assert 0 <= second <= 0.05


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (refused("AccessDeniedException"), AwsError, "AccessDeniedException"),
        (refused("ConditionalCheckFailedException"), ConditionFailed, "ConditionalCheckFailedException"),
        (
            refused(
                "TransactionCanceledException", CancellationReasons=[{"Code": "None"}, {"Code": "TransactionConflict"}]
            ),
            ConditionFailed,
            "TransactionCanceledException",
        ),
        (
            refused("TransactionCanceledException", CancellationReasons=[{"Code": "ValidationError"}]),
            AwsError,
            "TransactionCanceledException",
        ),
        (LoopbackResponse(413, (), b"too large"), AwsError, "413"),
    ],
)
def test_a_refusal_is_not_tried_again(
    service: Service, url: str, answer: LoopbackResponse, kind: type[AwsError], code: str
) -> None:
    service.answers = [answer]
    with pytest.raises(AwsError, match=rf"\({code}\)") as error:
        service.send(url=url)
    assert (type(error.value), error.value.code) == (kind, code)
    assert len(service.received) == 1


@pytest.mark.parametrize("reason", ["ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transaction_that_was_throttled_is_sent_again_and_then_an_outage(
    service: Service, url: str, reason: str
) -> None:
    throttled = refused("TransactionCanceledException", CancellationReasons=[{"Code": "None"}, {"Code": reason}])
    service.answers = [throttled, ok()]
    assert service.send("TransactWriteItems", url=url) == {}
    service.answers = [throttled]
    with pytest.raises(StoreUnavailable):
        service.send("TransactWriteItems", url=url, attempts=2)


def test_no_error_repeats_the_request_that_a_refused_signature_was_compared_with(service: Service, url: str) -> None:
    quoted = (
        "The signature does not match.\n\nThe Canonical String should have been\n'POST\nx-amz-security-token:token'"
    )
    service.answers = [refused("InvalidSignatureException", message=quoted)]
    with pytest.raises(AwsError, match="does not match") as error:
        service.send(url=url)
    assert "security-token" not in str(error.value)


def test_the_checksum_of_an_answer_is_compared(service: Service, url: str) -> None:
    service.answers = [LoopbackResponse(200, (("x-amz-crc32", str(zlib.crc32(b"{}"))),), b"{}")]
    assert service.send(url=url, attempts=1) == {}


def test_the_token_is_sent_and_no_error_repeats_it(service: Service, url: str) -> None:
    service.answers = [refused("UnrecognizedClientException")]
    with pytest.raises(AwsError) as error:
        service.send(url=url)
    (request,) = service.received
    assert request.headers["x-amz-security-token"] == "token"
    assert "token" not in f"{error.value!r}{error.value.__context__!r}"
