"""Many HTTP requests at once, each on a connection of its own, in a process apart from the deployment.

It reads a job as one line of JSON from its input: `host`, `port`, `seconds`, and `requests` with `path`,
`authorization`, `body` and the bytes to `pad` the body with. With `pause`, each request is sent again and again, so
many seconds after its response. It prints how many responses had which status.
"""

import asyncio
import json
import sys
from collections import Counter
from typing import Any

HEADERS = (
    "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
    "mcp-protocol-version: 2025-11-25\r\nconnection: close\r\n"
)


async def main() -> None:
    """Send the requests of the job, and count the statuses of the responses."""
    job = json.loads(sys.stdin.readline())
    outcomes = Counter[str]()
    tasks = [asyncio.create_task(_keep_sending(job, request, outcomes)) for request in job["requests"]]
    _, late = await asyncio.wait(tasks, timeout=job["seconds"])
    for task in late:
        task.cancel()
    if late and "pause" not in job:
        outcomes["none in time"] = len(late)
    print(json.dumps(outcomes))


async def _keep_sending(job: dict[str, Any], request: dict[str, Any], outcomes: Counter[str]) -> None:
    """Send a request once, or again and again."""
    outcomes[await _send(job["host"], job["port"], request)] += 1
    while "pause" in job:
        await asyncio.sleep(job["pause"])
        outcomes[await _send(job["host"], job["port"], request)] += 1


async def _send(host: str, port: int, request: dict[str, Any]) -> str:
    """Send one request and return the status of its response."""
    body = request["body"].encode() + b" " * request["pad"]
    lines = f"POST {request['path']} HTTP/1.1\r\nhost: {host}:{port}\r\n{HEADERS}"
    head = f"{lines}authorization: {request['authorization']}\r\ncontent-length: {len(body)}\r\n\r\n"
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
