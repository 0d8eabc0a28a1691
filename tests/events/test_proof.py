"""Many deliveries: duplicates, another order, wrong signatures, functions killed at any request to AWS, a vendor down.

Of each signed delivery each interest deals once, and nothing is lost where the vendor repeats what was not answered.
`make test-all ARGS="-s -k proof"` proves it of a thousand and prints what happened to them; MCPIST_DELIVERIES chooses
another number.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from events import callbacks, consumer
from mcpist.aws import clients
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import IS_NEW, events_table
from mcpist.events import store
from mcpist.memory import forget_entries
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from tests.core.loopback import Service
from tests.events.conftest import hook, source_of
from tests.events.test_webhooks import payload, subscribed
from tests.examples import examples
from tests.lambda_context import Context

DOWN = 0.2
"""How often a first attempt finds that the vendor is down."""
ROUND = 100
"""So many events come, and a tenth of earlier ones again, before all are worked off: the mock's queue is slow."""
CHANCES = {"hook": 0.05, "schedule": 0.02, "consumer": 0.006}
"""How often a function is killed before or after a request to AWS: few of a hook, many of ten messages."""
OFTEN = 1_000
"""After so many events all of them are compared; a point that was passed twice as often has killed its function."""
FAR = 200.0
"""Seconds by which the clock moves on once all messages were tried: leases of killed functions are over."""


class Killed(BaseException):
    """The end of a function in the middle of its work, which no handler catches."""


class Killer:
    """Ends one in so many requests to AWS, before or after AWS has served it."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.chance, self.room = dice, 0.0, ""
        self.points: Counter[tuple[str, str]] = Counter()
        """How often a room passed each point: before and after each kind of request."""
        self.kills: Counter[tuple[str, str]] = Counter()
        """How often it was killed there."""
        for service in ("dynamodb", "sqs"):
            events = clients.client(service).meta.events
            events.register("before-call", self.strike)
            events.register("after-call", self.strike)

    def strike(self, event_name: str, **_: Any) -> None:
        if not self.chance:
            return
        point = (self.room, event_name)
        self.points[point] += 1
        if self.dice.random() < self.chance:
            self.kills[point] += 1
            raise Killed

    def survives(self, room: str, work: Callable[[], Any]) -> Any:
        """Return the result of a function that may be killed; None if it was."""
        self.room, self.chance = room, CHANCES[room]
        try:
            return work()
        except Killed:
            forget_entries()  # another sandbox goes on
            return None
        finally:
            self.chance = 0.0


def run_until_quiet(killer: Killer) -> None:
    """Let the schedule and the consumer run, as Lambda does, until nothing is left to do."""
    moved, queue, client = 0.0, settings().event_queue, boto3.client("sqs")

    def clock() -> float:
        return time.time() + moved

    while True:
        killer.survives("schedule", lambda: consumer.send_due(Context(), clock))  # type: ignore[arg-type]
        found = client.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=0).get("Messages", [])
        is_quiet = not found and not store.find_due(clock() + 10 * FAR, 1)
        if is_quiet:
            return
        records = [{"messageId": one["MessageId"], "body": one["Body"]} for one in found]
        answer = killer.survives("consumer", lambda records=records: consumer.consume(records, clock))
        failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]} if answer else None
        for one in found:
            if failed is not None and one["MessageId"] not in failed:
                client.delete_message(QueueUrl=queue, ReceiptHandle=one["ReceiptHandle"])
        moved += 0.0 if failed == set() and found else FAR


def test_of_many_deliveries_none_is_lost_and_none_is_dealt_with_twice(
    uma: Permissions, vendor: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(15, uma, vendor, monkeypatch)


@pytest.mark.slow
def test_nor_is_one_of_many_more(uma: Permissions, vendor: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    prove(int(os.environ.get("MCPIST_DELIVERIES") or examples(1_000, quick=40)), uma, vendor, monkeypatch)


def prove(count: int, uma: Permissions, vendor: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send so many deliveries, some of them several times, and kill the functions that deal with them."""
    subscribed(uma, vendor)
    done: Counter[int] = Counter()
    seen: Counter[str] = Counter()
    dice = random.Random(7)  # noqa: S311 - no secret

    def deliver(interest: Any, stored: Any, caller: Any, number: int) -> float | None:  # noqa: ARG001 - as all kinds
        """As a kind does that starts a batch: under an id that the interest and the event decide."""
        if number == 1 and dice.random() < DOWN:
            seen["attempts while the vendor was down"] += 1
            return callbacks.delay(number)
        try:
            events_table().put({"pk": f"acme#done#{interest.id}", "sk": stored.event.id}, condition=IS_NEW)
        except ConditionFailed:
            seen["attempts after one that was killed"] += 1
            return None
        done[stored.event.data["issue"]["number"]] += 1
        return None

    monkeypatch.setitem(consumer.KINDS, "automation", deliver)
    source, killer = source_of(), Killer(dice)
    for begin in range(0, count, ROUND):
        late = [number for number in range(begin) if dice.random() < ROUND / 10 / begin]
        left = [number for number in range(begin, min(begin + ROUND, count)) for _ in range(dice.choice((1, 1, 2, 3)))]
        left += late
        seen["signed deliveries"] += len(left)
        while left:
            dice.shuffle(left)
            seen["requests of the vendor"] += len(left)
            left = [one for one in left if not killer.survives("hook", lambda one=one: taken(source, one, seen))]
        run_until_quiet(killer)
        come = begin + len(range(begin, count)[:ROUND])
        if come % OFTEN == 0 or come == count:
            kept = {one["sk"] for one in events_table().query("acme#done#i1")}
            figures = {"events": come, **seen, "kills": killer.kills.total(), "points": len(killer.points)}
            print(figures | {"points of kills": len(killer.kills), "dealt with": len(kept)})  # noqa: T201
            assert len(kept) == come
            # A function that was killed after its write could not count it.
            assert set(done) <= set(range(come))
            assert max(done.values()) == 1
            of_consumer = sum(times for (room, _), times in killer.kills.items() if room == "consumer")
            assert seen["attempts after one that was killed"] <= of_consumer
    assert killer.kills.total() > count / 20
    assert {point for point, times in killer.points.items() if times > 2 * OFTEN} <= killer.kills.keys()
    assert seen["attempts while the vendor was down"] > 0


def taken(source: Any, number: int, seen: Counter[str]) -> bool:
    """Whether the vendor's delivery was answered; before each tenth a stranger sends one."""
    if number % 10 == 0:
        seen["bad signatures"] += 1
        forged = hook(source, payload(number + 1_000_000), **{"x-hub-signature-256": "sha256=" + "0" * 64})
        assert forged["statusCode"] == 401
    answered: int = hook(source, payload(number))["statusCode"]
    return answered == 204
