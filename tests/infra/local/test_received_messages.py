"""What receiving a message costs where many wait, and that old ones are left out."""

from typing import Any

import moto.sqs.models
import pytest
from moto import mock_aws
from moto.sqs.models import SQSBackend, sqs_backends

from infra.local import pollers
from infra.local.names import ACCOUNT, REGION

WAITING, RECEIVED = 200, 10
DAY = 86_400_000


@pytest.fixture
def backend() -> Any:
    pollers.install()
    with mock_aws():
        found: SQSBackend = sqs_backends[ACCOUNT][REGION]
        found.create_queue("events", None)
        for number in range(WAITING):
            found.send_message("events", str(number))
        yield found


def test_messages_are_received_by_one_look_at_the_queue(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    now = moto.sqs.models.unix_time_millis

    def clock() -> float:
        nonlocal looks
        looks += 1
        return now()

    monkeypatch.setattr(moto.sqs.models, "unix_time_millis", clock)
    found = backend.receive_message("events", RECEIVED, 0, 60)
    assert [one.body for one in found] == [str(number) for number in range(RECEIVED)]
    assert looks < 3 * WAITING  # whether it is visible, and whether it is delayed


def test_a_message_is_not_received_after_its_time(backend: Any) -> None:
    queue = backend.queues["events"]
    queue._messages[0].sent_timestamp -= 3 * DAY
    assert len(backend.receive_message("events", 1, 0, 0)) == 1
    queue._messages[0].sent_timestamp -= 2 * DAY  # the queue keeps them for four days
    assert backend.receive_message("events", 1, 0, 0) == []
