"""Invocations without a request: by the messages of queues, the new items of tables, and the schedule of each minute.

Lambda's pollers: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html,
https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import unquote

import moto.sqs.models
from moto.dynamodb.models import dynamodb_backends
from moto.sqs.models import SQSBackend, sqs_backends

from infra.local.dynamodb import base64_text
from infra.local.invocation import InvocationResult, Throttled
from infra.local.names import ACCOUNT, EXPORT_BUCKET, QUEUE, REGION, STACK, arn
from infra.local.pool import Pool
from infra.local.server import App, LoopbackRequest, LoopbackResponse
from infra.local.template import Queue, StreamConsumer, Template

WAIT_SECONDS = 1
VISIBILITY_SECONDS = 60
"""As nothing else runs on one machine, what fails comes again sooner than on AWS."""
SCHEDULE_SECONDS = 60
CONSUMERS = 2
_sqs: Any = moto.sqs.models
STREAM_WAIT_SECONDS = 0.5
LAST_SECONDS, MAX_LAST_REFUSALS = 10, 3
"""The time and attempts for the items that were written last; a stream does not outlive the stack."""


def install() -> None:
    """Let moto receive messages without work on all of the queue for each of them, in this process."""
    _sqs.SQSBackend.is_message_valid_based_on_retention_period = is_retained
    _sqs.unix_time_millis = lambda: time.time() * 1000  # moto's own makes three datetimes for each look at a message


def is_retained(backend: SQSBackend, queue_name: str, message: Any) -> bool:
    """Whether a message is not too old yet; moto counts the queue's messages a dozen times before it says so."""
    kept_seconds: int = backend.get_queue(queue_name).message_retention_period  # type: ignore[attr-defined]
    return bool(message.sent_timestamp / 1000 + kept_seconds > time.time())


@contextmanager
def running_pollers(template: Template, pools: Mapping[str, Pool]) -> Iterator[None]:
    """Create the template's queues, and poll these, its streams and its schedule until the end of the context."""
    install()
    ended, backend = Event(), sqs_backends[ACCOUNT][REGION]
    backend.queues.clear()
    for queue in sorted(template.queues, key=lambda one: bool(one.dead_letters)):
        _create(backend, queue)
    work: list[tuple[Any, str, tuple[Any, ...]]] = [
        *((_consume, queue.consumer, (backend, queue)) for queue in template.queues for _ in range(CONSUMERS)),
        *((_follow, consumer.function, (consumer,)) for consumer in template.streams),
        *((_schedule, function, ()) for function in template.minutely),
    ]
    threads = [
        Thread(target=poll, args=(*arguments, pools[function], ended), daemon=True)
        for poll, function, arguments in work
        if function in pools
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        until = time.monotonic() + LAST_SECONDS
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0))
        backend.queues.clear()


def _invoke(pool: Pool, event: Mapping[str, Any]) -> InvocationResult | None:
    """Invoke a function by its alias; None where no sandbox may run."""
    try:
        body = json.dumps(event, default=base64_text).encode()
        return pool.invoke(body, pool.function.invoked_arn, queued=True)
    except Throttled:
        return None


def _schedule(pool: Pool, ended: Event) -> None:
    """Invoke a function once a minute."""
    event = {"source": "aws.events", "detail-type": "Scheduled Event", "resources": [STACK]}
    while not ended.wait(SCHEDULE_SECONDS):
        _invoke(pool, event)


# -- queues -----------------------------------------------------------------------------------------------


def _create(backend: SQSBackend, queue: Queue) -> None:
    redrive = {"deadLetterTargetArn": arn(queue.dead_letters, QUEUE), "maxReceiveCount": queue.max_receives}
    more: dict[str, Any] = {"RedrivePolicy": json.dumps(redrive)} if queue.dead_letters else {}
    backend.create_queue(queue.name, None, **more)


def _consume(backend: SQSBackend, queue: Queue, pool: Pool, ended: Event) -> None:
    """Invoke a function with the messages of a queue; what it does not report as failed is deleted."""
    while not ended.is_set():
        found = backend.receive_message(queue.name, queue.batch_size, WAIT_SECONDS, VISIBILITY_SECONDS)
        if not found or ended.is_set():
            continue
        records = [
            {
                "messageId": str(one.id),
                "receiptHandle": str(one.receipt_handle),
                "body": one.body,
                "eventSource": "aws:sqs",
            }
            for one in found
        ]
        failed = _failed(_invoke(pool, {"Records": records}), {record["messageId"] for record in records})
        for one in found:
            if str(one.id) not in failed:
                backend.delete_message(queue.name, str(one.receipt_handle))


def _failed(outcome: InvocationResult | None, ids: set[str]) -> set[str]:
    if outcome is None or outcome.error is not None:
        return ids
    return {one["itemIdentifier"] for one in json.loads(outcome.payload)["batchItemFailures"]}


# -- streams ----------------------------------------------------------------------------------------------


def _follow(consumer: StreamConsumer, pool: Pool, ended: Event) -> None:
    """Invoke a function with the new items of a table in their order; a batch that fails comes again first."""
    shard: Any = dynamodb_backends[ACCOUNT][REGION].tables[consumer.table].stream_shard
    refusals = 0
    while shard.items or not ended.is_set():
        if shard.items and _is_delivered(shard.items, consumer, pool):
            refusals = 0
            continue
        refusals += bool(shard.items)
        if ended.wait(STREAM_WAIT_SECONDS) and refusals >= MAX_LAST_REFUSALS:
            return


def _is_delivered(items: list[Any], consumer: StreamConsumer, pool: Pool) -> bool:
    """Invoke the function with the first items, and forget them once it has returned."""
    batch = [one.to_json() for one in items[: consumer.batch_size]]
    records = [_record(one) for one in batch if one["eventName"] == "INSERT"]
    if records and ((taken := _invoke(pool, {"Records": records})) is None or taken.error is not None):
        return False
    del items[: len(batch)]
    return True


def _record(streamed: Mapping[str, Any]) -> dict[str, Any]:
    change = streamed["dynamodb"]
    names = ("eventID", "eventName", "eventSource")
    return {
        **{name: streamed[name] for name in names},
        "dynamodb": {name: change[name] for name in ("Keys", "NewImage")},
    }


@dataclass(frozen=True)
class ExportFolder:
    """AWS as an App, whose bucket EXPORT_BUCKET is a folder of this machine: what is put there is a file."""

    aws: App
    folder: Path

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        """Write an object as a file, whole or not at all; pass any other request on."""
        bucket, _, key = unquote(request.path).removeprefix("/").partition("/")
        place = (self.folder / key).resolve()
        if (request.method, bucket) != ("PUT", EXPORT_BUCKET) or not place.is_relative_to(self.folder.resolve()):
            return self.aws(request)
        part = place.with_name(f"{place.name}.part")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(request.body)
            part.replace(place)
        except OSError:
            return LoopbackResponse(503)
        tag = hashlib.md5(request.body, usedforsecurity=False).hexdigest()
        return LoopbackResponse(200, (("etag", f'"{tag}"'),))
