"""The cost page: counted AWS usage of calls and batches, and its price by the price table."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.meter import Meter
from benchmarks.prices import Usage, dollar_text, dollars, prices
from benchmarks.report import COSTS, keep, measured, table
from benchmarks.stub_deployment import StubDeployment, say
from infra.local.demo import USER
from infra.source import ROOT
from tests import accounts

ROUNDS = 5
CHAINS, LINKS = 5, 6
STEPS = CHAINS * LINKS
QUICK_READS = 5
ROWS = 100  # in groups of 5
CACHE_EXPIRY_SECONDS = 6  # after which the directory and the list of documents are read again
SCALE = {"call": 1_000_000, "step": 1_000}


@dataclass(frozen=True)
class Case:
    """A piece of work that is priced."""

    name: str
    prepare: Callable[[], object]
    """Runs before each round and is not counted."""
    work: Callable[[], int]
    """Runs in each round and returns the bytes of its answers."""
    service_calls: int = 0
    """Calls of a service that needs a grant."""
    parts: int = 1
    """The calls or steps by which the usage is divided."""

    @property
    def part(self) -> str:
        """The counted unit."""
        return "call" if self.parts == 1 else "step"


def measure(stub: StubDeployment) -> None:
    """Count and price all cases, and write the tables into docs/costs.md."""
    accounts.connect(stub.deployment, "stub", "stub-token")
    found = {case: usage(Meter(stub.deployment), case) for case in cases(stub)}
    tables = (usage_table(found), cost_table(found))
    text = f"Measured {measured()}.\n\n" + "\n".join(tables)
    print(text)
    keep(text, COSTS, "costs")


def usage(meter: Meter, case: Case) -> Usage:
    """Return the usage of a case's part, from the round with the least time in functions."""
    rounds: list[Usage] = []
    for number in range(ROUNDS):
        say(f"{case.name}: round {number + 1} of {ROUNDS}")
        case.prepare()
        rounds.append(meter.usage(case.work, service_calls=case.service_calls))
    best = min(rounds, key=lambda one: one["lambda_gb_second"])
    return {key: amount / case.parts for key, amount in best.items() if amount}


def cases(stub: StubDeployment) -> Iterator[Case]:
    """Yield the cases."""

    def calls(module: str, tool: str, **params: str) -> Callable[[], int]:
        event = _event(stub, "call", {"module": module, "tool": tool, "params": params})
        return lambda: len(Meter(stub.deployment).ask(event))

    idle, ask = calls("stub", "idle"), calls("stub", "ask_about", name="a")
    search = calls("rag", "search_docs", query="batch")
    yield Case("warm, no grant", idle, idle)
    yield Case("warm, cached grant", ask, ask, service_calls=1)
    yield Case("warm, documents", lambda: with_expired_caches(search), search)
    yield Case("cold, grant", lambda: accounts.forget(stub.deployment), ask, service_calls=1)
    for name, commands, parts in (
        (f"{QUICK_READS} reads, in the request", chain(0, QUICK_READS), QUICK_READS),
        (f"batch of {STEPS}", chains(), STEPS),
        (f"row of a list of {ROWS}", listed(), ROWS),
    ):
        run = partial(run_batch, stub, [*commands])
        yield Case(name, lambda: None, run, service_calls=parts, parts=parts)


def with_expired_caches(work: Callable[[], int]) -> None:
    """Warm up, then wait until short caches have expired."""
    work()
    time.sleep(CACHE_EXPIRY_SECONDS)


def run_batch(stub: StubDeployment, commands: list[dict[str, Any]]) -> int:
    """Run a batch to its end as a client does, and return the bytes of the answers."""
    answers = [Meter(stub.deployment).ask(_event(stub, "batch", {"commands": commands}))]
    while running := re.search(r"batch (b_\w+): running", answers[-1]):
        answers.append(Meter(stub.deployment).ask(_event(stub, "batch", {"batch_id": running[1]})))
    return sum(map(len, answers))


def chains() -> Iterator[dict[str, Any]]:
    """Yield the steps of a batch that all call a service, most with another step's result."""
    for number in range(CHAINS):
        yield from chain(number, LINKS)


def chain(number: int, links: int) -> Iterator[dict[str, Any]]:
    """Yield steps of which each takes the result of the one before."""
    for link in range(links):
        name = f"${{c{number}s{link - 1}.items[0].name}}" if link else f"n{number}"
        yield {"id": f"c{number}s{link}", "module": "stub", "tool": "ask_about", "params": {"name": name}}


def listed() -> Iterator[dict[str, Any]]:
    """Yield a list and a step that calls a service for each of its rows, in groups."""
    yield {"id": "list", "module": "stub", "tool": "number", "params": {"rows": ROWS}}
    read = {"id": "read", "module": "stub", "tool": "ask_about", "params": {"name": "n${each.name}"}}
    yield read | {"each": "${list.items}", "each_limit": ROWS}


def usage_table(found: Mapping[Case, Usage]) -> str:
    """Return the table of the usage of one call or step."""
    columns = ["of one", *(f"{case.part} ({case.name})" for case in found)]
    keys = [key for key in prices() if any(key in one for one in found.values())]
    return table(
        columns,
        (
            [f"{prices()[key].name}: {prices()[key].unit}", *(_amount(one.get(key, 0)) for one in found.values())]
            for key in keys
        ),
    )


def cost_table(found: Mapping[Case, Usage]) -> str:
    """Return the table of the costs of a million calls or a thousand steps."""
    columns = ["dollars of", *(f"{SCALE[case.part]:,} {case.part}s ({case.name})" for case in found)]
    costs = [{key: part * SCALE[case.part] for key, part in dollars(one).items()} for case, one in found.items()]
    keys = [key for key in prices() if any(key in one for one in costs)]
    rows = [[prices()[key].name, *(dollar_text(one.get(key, 0)) for one in costs)] for key in keys]
    return table(columns, [*rows, ["**together**", *(f"**{dollar_text(sum(one.values()))}**" for one in costs)]])


def _event(stub: StubDeployment, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((ROOT / "events/mcp_endpoint_call.json").read_text("utf-8"))
    body = json.loads(event["body"])
    body["params"] |= {"name": tool, "arguments": arguments}
    host = stub.deployment.aws.api_url.partition("//")[2]
    event["headers"] |= {"authorization": f"Bearer {stub.deployment.token(USER)}", "host": host, "mcp-name": tool}
    return event | {"body": json.dumps(body)}


def _amount(amount: float) -> str:
    if not amount:
        return ""
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"
