"""A machine that stops while batches run: after the next start they go on, and nothing is written twice.

How often it is killed is chosen by KILLS, e.g. `KILLS=20 make test-all ARGS="-k interrupted"`.
"""

import json
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import httpx2
import pytest

from tests.core.loopback import listening
from tests.upstreams.fake_upstream import FakeUpstream
from tests.whole.test_restart import Stack, up

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("KILLS", "3"))
CALL_SECONDS = 0.2
CALLS = 12
"""Of a batch of `batch_of`."""
NUMBER = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = [
    {"name": "list", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "mark", "inputSchema": NUMBER, "annotations": {"readOnlyHint": False, "destructiveHint": False}},
]


@dataclass
class MarkServer:
    """An MCP server that counts what it writes."""

    marks: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    changed: Condition = field(default_factory=Condition)

    def call(self, message: dict[str, Any]) -> dict[str, Any]:
        params = message["params"]
        with self.changed:
            self.calls += 1
            self.changed.notify_all()
        time.sleep(CALL_SECONDS)
        if params["name"] == "list":
            return {"content": [{"type": "text", "text": json.dumps([f"e{number}" for number in range(6)])}]}
        with self.changed:
            self.marks[params["arguments"]["name"]] += 1
        return {"content": [{"type": "text", "text": '{"marked": true}'}]}

    def wait_for_call(self, number: int) -> None:
        """Wait until it has been called so many times since it was asked to count."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.calls >= number, timeout=60)


@pytest.fixture
def counter(tmp_path: Path) -> Iterator[MarkServer]:
    """The server, named in `upstreams.json`."""
    counted, fake = MarkServer(), FakeUpstream()
    fake.says |= {"tools/list": {"tools": TOOLS}, "tools/call": counted.call}
    server = {"type": "http", "url": f"http://127.0.0.1:{fake.port}/mcp", "description": "Counts"}
    category = {"description": "Counts", "server": "counter", "tools": {"includeNames": ["list", "mark"]}}
    configured = {"mcpServers": {"counter": server}, "categories": {"counter": category}}
    (tmp_path / "upstreams.json").write_text(json.dumps(configured), "utf-8")
    (tmp_path / "notes").mkdir()
    with listening(fake.http):
        yield counted


def kept_port() -> int:
    """Return a port that no connection gets while nothing listens on it, nor on the next one, where the login is."""
    for port in range(20_000, 30_000, 2):
        with (
            suppress(OSError),
            socket.create_server(("127.0.0.1", port)),
            socket.create_server(("127.0.0.1", port + 1)),
        ):
            return port
    raise AssertionError("no port is free")


def batch_of(run: str) -> list[dict[str, Any]]:
    """Return steps of all kinds: a list, writes for each of its elements, a chain of writes, and reads after both."""

    def step(id_: str, tool: str, name: str = "", **more: Any) -> dict[str, Any]:
        params = {"params": {"name": f"{run}/{name}"}} if name else {}
        return {"id": id_, "module": "counter", "tool": tool, **params, **more}

    return [
        step("find", "list"),
        step("all", "mark", "${each}", each="${find.raw}", on_error="continue"),
        step("one", "mark", "one", on_error="continue"),
        step("two", "mark", "two", after=["one"], on_error="continue"),
        step("three", "mark", "three", after=["two"], on_error="continue"),
        step("read", "list", after=["three", "all"]),
        step("again", "list", after=["read"]),
    ]


@dataclass
class Person:
    """Uma's program."""

    web: httpx2.Client

    def start(self, run: str) -> None:
        """Send a batch, whose answer may never come."""
        with suppress(httpx2.HTTPError):
            answer = self.web.post("/v1/batches", json={"commands": batch_of(run)})
            assert answer.status_code == httpx2.codes.ACCEPTED, answer.text

    def newest(self) -> str:
        batches = self.web.get("/v1/batches", params={"limit": 1}).json()["batches"]
        return str(batches[0]["id"]) if batches else ""

    def end_of(self, batch: str) -> dict[str, Any]:
        for _ in range(10):
            answer = self.web.get(f"/v1/batches/{batch}", params={"wait": 20}).json()
            if answer["done"]:
                return dict(answer)
        raise AssertionError(answer)


@contextmanager
def person_of(stack: Stack) -> Iterator[Person]:
    headers = {"authorization": f"Bearer {stack.facts['access_token']}"}
    with httpx2.Client(base_url=stack.facts["api_url"], headers=headers, timeout=60) as web:
        yield Person(web)


def expect_all_of_it(batch: dict[str, Any], marks: Counter[str], run: str) -> None:
    """Expect that each step ran, each write once, and those in doubt at most once."""
    states = {step["id"]: step["state"] for step in batch["steps"]}
    assert [states[id_] for id_ in ("find", "read", "again")] == ["succeeded"] * 3, batch
    for id_ in ("one", "two", "three"):
        assert (states[id_], marks[f"{run}/{id_}"]) in {("succeeded", 1), ("unknown", 0), ("unknown", 1)}, batch
    step = next(step for step in batch["steps"] if step["id"] == "all")
    in_doubt = {failure["index"] for failure in step["elementFailures"] if failure["status"] == "unknown"}
    assert step["elements"]["count"] == step["elements"]["settled"] == 6
    assert step["elements"]["succeeded"] == 6 - len(in_doubt)
    for index in range(6):
        assert marks[f"{run}/e{index}"] in ({0, 1} if index in in_doubt else {1}), (index, batch)


def test_batches_go_on_after_a_kill_at_any_moment_unless_cancelled_and_write_nothing_twice(
    tmp_path: Path, counter: MarkServer
) -> None:
    port, moments = kept_port(), random.Random(29)  # noqa: S311 - moments, no secrets
    upstreams = ("--upstreams", str(tmp_path / "upstreams.json"))
    before, cancelled, interrupted = "", "", 0
    for number in range(KILLS + 1):
        run = f"run{number}"
        with up(tmp_path, port, *upstreams) as stack, person_of(stack) as person:
            newest, previous = person.newest(), f"run{number - 1}"
            if newest == before:  # the kill came before the batch was stored
                assert not any(name.startswith(f"{previous}/") for name in counter.marks)
            else:
                log = (tmp_path / "up.log").read_text()
                interrupted += f"batch {newest} of uma was interrupted" in log
                expect_all_of_it(person.end_of(newest), counter.marks, previous)
            before = newest
            if number == KILLS - 1:
                person.start("cancelled")
                before = cancelled = person.newest()
                person.web.post(f"/v1/batches/{cancelled}/cancel")
            if number < KILLS:
                counter.calls, calls = 0, moments.randrange(CALLS)
                sending = Thread(target=person.start, args=(run,))
                sending.start()
                counter.wait_for_call(calls)
                time.sleep(moments.uniform(0, 2 * CALL_SECONDS))
                stack.kill()
                sending.join()
            else:
                states = {batch["id"]: batch["state"] for batch in stack.mcpist("batches")["batches"]}
                assert states[cancelled] == "cancelled"
    assert interrupted > KILLS // 2
    assert max(counter.marks.values()) == 1
