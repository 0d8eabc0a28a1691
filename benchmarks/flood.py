"""Many HTTP requests at once, each on a connection of its own, in a process apart from the deployment.

It reads a job as one line of JSON from its input: `host`, `port`, `seconds`, and `requests` with `path`,
`authorization`, `body` and the bytes to `pad` the body with; or with the `secret` of a vendor, whose deliveries it then
sends, each another one. With `pause`, each request is sent again and again, so many seconds after its response. It
prints how many responses had which status.
"""

import asyncio
import hashlib
import hmac
import json
import sys
import time
from collections import Counter
from typing import Any
from uuid import uuid4

MAX_LAST_SECONDS = 30.0  # for the responses on their way when the time is over
HEADERS = (
    "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
    "mcp-protocol-version: 2025-11-25\r\nconnection: close\r\n"
)


def delivery(secret: str) -> tuple[bytes, dict[str, str]]:
    """Return the body of a new message as Slack delivers it, and the headers that sign it."""
    identifier, moment = uuid4().hex, str(int(time.time()))
    event = {"type": "message", "channel": "C1", "user": "U1", "text": f"message {identifier}", "ts": "1.2"}
    envelope = {"type": "event_callback", "event_id": identifier, "event_time": int(moment), "event": event}
    body = json.dumps(envelope).encode()
    signed = hmac.new(secret.encode(), f"v0:{moment}:".encode() + body, hashlib.sha256).hexdigest()
    return body, {"x-slack-request-timestamp": moment, "x-slack-signature": f"v0={signed}"}


async def main() -> None:
    """Send the requests of the job, and count the statuses of the responses; who sends again waits for its last one."""
    job = json.loads(sys.stdin.readline())
    outcomes = Counter[str]()
    over = asyncio.Event()
    tasks = [asyncio.create_task(_keep_sending(job, request, outcomes, over)) for request in job["requests"]]
    _, late = await asyncio.wait(tasks, timeout=job["seconds"])
    over.set()
    if late and "pause" in job:
        _, late = await asyncio.wait(late, timeout=MAX_LAST_SECONDS)
    for task in late:
        task.cancel()
    if late and "pause" not in job:
        outcomes["none in time"] = len(late)
    print(json.dumps(outcomes))


async def _keep_sending(
    job: dict[str, Any], request: dict[str, Any], outcomes: Counter[str], over: asyncio.Event
) -> None:
    """Send a request once, or again and again until the time is over."""
    outcomes[await _send(job["host"], job["port"], request)] += 1
    while "pause" in job and not over.is_set():
        await asyncio.sleep(job["pause"])
        outcomes[await _send(job["host"], job["port"], request)] += 1


async def _send(host: str, port: int, request: dict[str, Any]) -> str:
    """Send one request and return the status of its response."""
    if "secret" in request:
        body, own = delivery(request["secret"])
    else:
        body = request["body"].encode() + b" " * request["pad"]
        own = {"authorization": request["authorization"]}
    lines = f"POST {request['path']} HTTP/1.1\r\nhost: {host}:{port}\r\n{HEADERS}"
    headers = (own | {"content-length": str(len(body))}).items()
    head = lines + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
    try:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(head.encode() + body)
        status = (await reader.readline()).split()
        await reader.read()
        writer.close()
    except OSError as error:
        return type(error).__name__
    return status[1].decode() if len(status) > 1 else "no response"


if __name__ == "__main__":
    asyncio.run(main())
