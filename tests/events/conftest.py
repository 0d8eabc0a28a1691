"""The surroundings of events: a broker that keeps secrets, a service of GitHub's on loopback, and a person's source."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from events import consumer
from events.handler import handler
from mcpist.caller import Proof
from mcpist.events import sources
from mcpist.events.sources import EventSource
from mcpist.people import directory
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.github.module import github
from tests.core.loopback import Service, serving
from tests.lambda_context import Context
from tests.rest_api.fake_broker import FakeBroker

SECRET = "a-secret-of-the-webhook"
REPOSITORY = {"owner": "octocat", "repo": "hello-world"}


@pytest.fixture
def broker(organization: str) -> FakeBroker:  # noqa: ARG001 - AWS is mocked first
    """A broker whose kept secrets are all SECRET, or what was given."""
    fake = FakeBroker()
    fake.answers |= {
        "permit": {"id": "p1", "permit": "sealed-permit", "expires_at": 4102444800},
        "keep_secret": lambda message: {"sealed": message["secret"] or SECRET, "secret": message["secret"] or SECRET},
        "mac": lambda message: {
            "mac": hmac.new(
                message["sealed"].encode(), base64.b64decode(message["message"]), hashlib.sha256
            ).hexdigest()
        },
        "resolve": {
            "token": "t1",
            "account_id": "7",
            "account_name": "uma",
            "owner": "user#uma",
            "expires_at": None,
            "version": 1,
        },
    }
    return fake


@pytest.fixture
def vendor(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:  # noqa: ARG001 - it knows accounts
    """GitHub's API on loopback."""
    with serving() as service:
        monkeypatch.setattr(github, "host", service.url)
        yield service


@pytest.fixture
def uma(broker: FakeBroker) -> Permissions:  # noqa: ARG001 - she has accounts there
    return permissions("uma")


def permissions(user: str) -> Permissions:
    """What a user may do, as a request with their token finds it."""
    subject = directory.read("acme").users[user].subject
    return Permissions(directory.identify(subject, organization="acme", proof=Proof("jwt", "j.w.t")), CATALOGUE)


def queued() -> list[dict[str, Any]]:
    """Take all messages from the queue."""
    found: list[dict[str, Any]] = []
    queue, client = settings().event_queue, boto3.client("sqs")
    while messages := client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
        found += [json.loads(message["Body"]) for message in messages]
        for message in messages:
            client.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return found


def work_off() -> list[str]:
    """Let the handler deal with all messages, as Lambda would; return the ids of those that failed."""
    failed = []
    while messages := queued():
        records = [{"messageId": str(number), "body": json.dumps(one)} for number, one in enumerate(messages)]
        failed += handler({"Records": records}, Context())["batchItemFailures"]  # type: ignore[arg-type]
    return [one["itemIdentifier"] for one in failed]


def hook(source: EventSource, payload: dict[str, Any], name: str = "issues", **headers: str) -> dict[str, Any]:
    """The handler's response to a delivery of GitHub's."""
    body = json.dumps(payload)
    signed = "sha256=" + hmac.new(SECRET.encode(), body.encode(), hashlib.sha256).hexdigest()
    event = {
        "requestContext": {"http": {"method": "POST"}},
        "rawPath": f"/hooks/{source.id}",
        "pathParameters": {"source": source.id},
        "headers": {"x-github-event": name, "x-hub-signature-256": signed} | headers,
        "body": base64.b64encode(body.encode()).decode(),
        "isBase64Encoded": True,
    }
    return handler(event, Context())  # type: ignore[arg-type]


def source_of(user: str = "uma") -> EventSource:
    (source,) = sources.of_user("acme", user)
    return source


@pytest.fixture
def delivered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The interests and events with which a kind of the tests dealt."""
    done: list[tuple[str, str]] = []

    def deliver(interest: Any, stored: Any, caller: Any, number: int) -> None:  # noqa: ARG001 - as all kinds
        done.append((interest.id, stored.event.id))

    monkeypatch.setitem(consumer.KINDS, "automation", deliver)
    return done
