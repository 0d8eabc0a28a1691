"""Invocations without a request: by the messages of queues, and by the schedule of each minute.

Lambda's poller: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from moto.sqs.models import SQSBackend, sqs_backends

from infra.local.dynamodb import base64_text
from infra.local.invocation import InvocationResult, Throttled
from infra.local.names import ACCOUNT, QUEUE, REGION, STACK, arn
from infra.local.pool import Pool
from infra.local.template import Queue, Template

WAIT_SECONDS = 1
VISIBILITY_SECONDS = 60
"""As nothing else runs on one machine, what fails comes again sooner than on AWS."""
SCHEDULE_SECONDS = 60
CONSUMERS = 2


@contextmanager
def running_queues(template: Template, pools: Mapping[str, Pool]) -> Iterator[None]:
    """Create the template's queues, and let their consumers run until the end of the context."""
    ended, backend = threading.Event(), sqs_backends[ACCOUNT][REGION]
    backend.queues.clear()
    for queue in sorted(template.queues, key=lambda one: bool(one.dead_letters)):
        _create(backend, queue)
    threads = [
        threading.Thread(target=_consume, args=(backend, queue, pools[queue.consumer], ended), daemon=True)
        for queue in template.queues
        for _ in range(CONSUMERS if queue.consumer in pools else 0)
    ]
    threads += [
        threading.Thread(target=_schedule, args=(pools[function], ended), daemon=True)
        for function in template.minutely
        if function in pools
    ]
    try:
        with running_threads(threads, ended, WAIT_SECONDS * 3):
            yield
    finally:
        backend.queues.clear()


@contextmanager
def running_threads(threads: Sequence[threading.Thread], ended: threading.Event, seconds: float) -> Iterator[None]:
    """Let threads run until the end of the context, which sets `ended` and waits so many seconds for each."""
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(seconds)


def _create(backend: SQSBackend, queue: Queue) -> None:
    redrive = {"deadLetterTargetArn": arn(queue.dead_letters, QUEUE), "maxReceiveCount": queue.max_receives}
    more: dict[str, Any] = {"RedrivePolicy": json.dumps(redrive)} if queue.dead_letters else {}
    backend.create_queue(queue.name, None, **more)


def _consume(backend: SQSBackend, queue: Queue, pool: Pool, ended: threading.Event) -> None:
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
        failed = _failed(invoke_live(pool, {"Records": records}), {record["messageId"] for record in records})
        for one in found:
            if str(one.id) not in failed:
                backend.delete_message(queue.name, str(one.receipt_handle))


def _schedule(pool: Pool, ended: threading.Event) -> None:
    """Invoke a function once a minute."""
    event = {"source": "aws.events", "detail-type": "Scheduled Event", "resources": [STACK]}
    while not ended.wait(SCHEDULE_SECONDS):
        invoke_live(pool, event)


def invoke_live(pool: Pool, event: Mapping[str, Any]) -> InvocationResult | None:
    """Invoke a function by its alias; None where no sandbox may run."""
    try:
        body = json.dumps(event, default=base64_text).encode()
        return pool.invoke(body, f"{pool.function.arn}:live", queued=True)
    except Throttled:
        return None


def _failed(outcome: InvocationResult | None, ids: set[str]) -> set[str]:
    if outcome is None or outcome.error is not None:
        return ids
    return {one["itemIdentifier"] for one in json.loads(outcome.payload)["batchItemFailures"]}
