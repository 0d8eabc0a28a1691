"""Many MCP clients at once in one process, each with pauses like those of a person at work.

Run as `python -m benchmarks.clients` with a job on stdin: `{"url", "people": [{"token", "account"}], "clients",
"seconds", "pause_seconds", "arrival_seconds"}`; prints `{"milliseconds": {KIND: [...]}, "errors": {CODE: count},
"examples": {CODE: text}}`. A person with an empty `account` calls no service that needs a grant. A wrong answer counts
as an error.
"""

import asyncio
import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from infra.cli.document import CommandError
from infra.cli.endpoint import tool_result

HTTP_TIMEOUT_SECONDS = 60
TOOLS = {"batch", "call", "get_module_schema"}
WORDS = ("batch", "token", "grant", "deploy", "role", "upstream", "audit")
RUNNING = re.compile(r"batch (b_\w+): running")
MAX_EXAMPLE_CHARACTERS = 300


class WrongAnswer(Exception):
    """An answer that does not belong to its request."""


@dataclass
class ClientRecord:
    """The times and errors that the clients have seen."""

    milliseconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    async def see(self, response: httpx2.Response) -> None:
        """Count a response that is no answer by its status, with what it says."""
        if response.is_error:
            self.errors[f"HTTP {response.status_code}"] += 1
            await response.aread()
            self._show(f"HTTP {response.status_code}", response.text)

    async def measure(self, kind: str, work: Awaitable[None]) -> None:
        """Wait for a piece of work, and record its time or its error."""
        started = time.perf_counter()
        try:
            await work
        except Exception as error:  # noqa: BLE001 - every error is counted by its kind
            self.fail(error)
        else:
            self.milliseconds[kind].append((time.perf_counter() - started) * 1000)

    def fail(self, error: BaseException) -> None:
        """Count an error by its code or, without one, by its class."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        code = str(error.error.get("code")) if isinstance(error, CommandError) else type(error).__name__
        self.errors[code] += 1
        self._show(code, error)

    def _show(self, code: str, what: object) -> None:
        words = f"after {time.monotonic() - self.began:.0f} s {what}"
        self.examples.setdefault(code, words[:MAX_EXAMPLE_CHARACTERS])


@dataclass(frozen=True)
class SimulatedUser:
    """A simulated person with an MCP client."""

    session: Client
    account: str
    rng: Random

    def next_action(self) -> tuple[str, Awaitable[None]]:
        """Choose the next action: often a call, sometimes a batch, seldom a list of the tools."""
        kinds = {"tools/list": 1, "schema": 3, "documents": 6, "batch of 3": 2, "service": 5 if self.account else 0}
        (kind,) = self.rng.choices(list(kinds), list(kinds.values()))
        match kind:
            case "tools/list":
                return kind, self.list_tools()
            case "schema":
                return kind, self.read_schema()
            case "documents":
                return kind, self.search_documents()
            case "service":
                return kind, self.call_service()
        return kind, self.run_service_batch() if self.account and self.rng.random() < 0.5 else self.run_search_batch()

    async def list_tools(self) -> None:
        """List the tools."""
        names = {tool.name for tool in (await self.session.list_tools()).tools}
        if names != TOOLS:
            raise WrongAnswer(str(names))

    async def read_schema(self) -> None:
        """Read a module's schema."""
        await self._call("get_module_schema", {"modules": ["rag"]}, shows=("search_docs",))

    async def search_documents(self) -> None:
        """Search the documents."""
        await self._call("call", self._search(), shows=(".md",))

    async def call_service(self) -> None:
        """Call a service, whose answer names the account."""
        name = self._name()
        await self._call("call", _service_call(name), shows=(f"{name} 0", self.account))

    async def run_search_batch(self) -> None:
        """Search, and read the first two documents found."""
        first, second = (
            {"module": "rag", "tool": "get_doc", "params": {"path": f"${{find.items[{n}].path}}"}} for n in (0, 1)
        )
        await self._batch({**self._search(), "id": "find"}, first, second, shows=(".md",))

    async def run_service_batch(self) -> None:
        """Call a service twice in parallel, then with the results."""
        one, two = self._name(), self._name()
        asked = ({**_service_call(name), "id": id_} for name, id_ in ((one, "one"), (two, "two")))
        last = _service_call("${one.items[0].name} and ${two.items[0].name}")
        await self._batch(*asked, last, shows=(f"{one} 0 and {two} 0", self.account))

    async def _batch(self, *steps: dict[str, Any], shows: tuple[str, ...]) -> None:
        text = await self._answer("batch", {"commands": [*steps[:-1], {**steps[-1], "output": True}]})
        while running := RUNNING.search(text):
            text = await self._answer("batch", {"batch_id": running[1]})
        _expect_all((": done, 3 of 3 steps", *shows), text)

    async def _call(self, tool: str, arguments: dict[str, Any], *, shows: tuple[str, ...]) -> None:
        _expect_all(shows, await self._answer(tool, arguments))

    async def _answer(self, tool: str, arguments: dict[str, Any]) -> str:
        answer = (await self.session.call_tool(tool, arguments)).model_dump(mode="json", by_alias=True)
        return json.dumps(tool_result(answer).texts, ensure_ascii=False)

    def _search(self) -> dict[str, Any]:
        return {"module": "rag", "tool": "search_docs", "params": {"query": self.rng.choice(WORDS), "limit": 3}}

    def _name(self) -> str:
        return f"n{self.rng.randrange(10**9)}"


async def work(job: dict[str, Any]) -> ClientRecord:
    """Let all clients work until the time has passed."""
    record, until = ClientRecord(), time.monotonic() + job["seconds"]
    people = job["people"]
    clients = (_client(number, people[number % len(people)], job, until, record) for number in range(job["clients"]))
    await asyncio.gather(*clients)
    return record


async def _client(number: int, person: dict[str, str], job: dict[str, Any], until: float, record: ClientRecord) -> None:
    rng, url = Random(number), job["url"]  # noqa: S311 - equal in every run
    headers, seen = {"authorization": f"Bearer {person['token']}"}, {"response": [record.see]}
    await asyncio.sleep(rng.uniform(0, job["arrival_seconds"]))
    try:
        async with httpx2.AsyncClient(headers=headers, timeout=HTTP_TIMEOUT_SECONDS, event_hooks=seen) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, cache=None) as client:  # so that each list is requested
                user = SimulatedUser(client, person["account"], rng)
                while time.monotonic() < until:
                    await record.measure(*user.next_action())
                    pause = rng.uniform(0.5, 1.5) * job["pause_seconds"]
                    await asyncio.sleep(min(pause, max(0.0, until - time.monotonic())))
    except Exception as error:  # noqa: BLE001 - the loss of a client is counted as an error
        record.fail(error)


def _service_call(name: str) -> dict[str, Any]:
    return {"module": "stub", "tool": "ask_about", "params": {"name": name}}


def _expect_all(parts: tuple[str, ...], text: str) -> None:
    if not all(part in text for part in parts):
        raise WrongAnswer(text)


def main() -> None:
    """Run the job on stdin."""
    record = asyncio.run(work(json.load(sys.stdin)))
    print(json.dumps({"milliseconds": record.milliseconds, "errors": record.errors, "examples": record.examples}))


if __name__ == "__main__":
    main()
