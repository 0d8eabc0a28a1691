"""The stream of a table's new items to a function, and a folder in the place of the owner's bucket for what it makes.

Lambda's poller: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from moto.dynamodb.models import dynamodb_backends

from infra.local.invocation import InvocationResult
from infra.local.names import ACCOUNT, EXPORT_BUCKET, REGION
from infra.local.pool import Pool
from infra.local.queues import invoke_live, running_threads
from infra.local.server import App, LoopbackRequest, LoopbackResponse
from infra.local.template import StreamConsumer, Template

STREAM_WAIT_SECONDS = 0.5
NOTHING = InvocationResult(b"")
LAST_SECONDS, MAX_LAST_REFUSALS = 10, 3
"""The time and attempts for the items that were written last; the stream itself does not outlive the stack."""


@contextmanager
def running_streams(template: Template, pools: Mapping[str, Pool]) -> Iterator[None]:
    """Let the consumers of the template's tables run until the end of the context."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=_follow, args=(one, pools[one.function], ended), daemon=True)
        for one in template.streams
        if one.function in pools
    ]
    with running_threads(threads, ended, LAST_SECONDS):
        yield


def _follow(consumer: StreamConsumer, pool: Pool, ended: threading.Event) -> None:
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
    taken = invoke_live(pool, {"Records": records}) if records else NOTHING
    if taken is None or taken.error is not None:
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
