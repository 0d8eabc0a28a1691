"""`make bench`: measure, print the table, and keep it in docs/benchmarks.md."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from typing import Any

from infra.bench import broker, catalogue, console, costs, imports, load, noise, scale, workflows
from infra.bench.broker import sandbox_environment
from infra.bench.report import BENCHMARKS, Row, keep, measured, table
from infra.bench.stub_deployment import SLOW_RESPONSE_SECONDS, StubDeployment, run_stub_deployment, say
from infra.cli.endpoint import Endpoint
from infra.cli.plan import plan_batch
from infra.local import accounts
from infra.local.demo import ORGANIZATION, USER
from infra.local.deployment import ROOT, LocalDeployment
from infra.local.project_copy import with_modules
from mcpist.caller import Caller, Subject
from mcpist.render.shows import shows
from mcpist.running.account import Account
from mcpist.running.broker import Credential
from mcpist.running.run import ServiceClient
from mcpist.settings import settings
from mcpist.tools.call import Call
from mcpist.tools.catalogue import INDEX_FILE
from mcpist.tools.index import Index
from mcpist.tools.module import Module

ROUNDS = 5
SANDBOXES = 11  # of each kind, since other work on the machine slows some of them
CALLS = 200
TIMED_RUNS = 3


def main() -> None:
    """Measure the named part; without a name, everything except the tests under load."""
    parser = argparse.ArgumentParser(prog="python -m infra.bench", description=main.__doc__)
    named = parser.add_subparsers(dest="named")
    named.add_parser("costs", help="count what calls and batches ask of AWS, and price it")
    loaded = named.add_parser("load", help="many clients at once for some minutes: no error, no growing memory")
    loaded.add_argument("--minutes", type=float, default=10)
    loaded.add_argument("--clients", type=int, default=50)
    loaded.add_argument("--batches", type=int, default=1_000, help="batches while a sandbox is killed every second")
    noisy = named.add_parser("noise", help="hostile requests of one user, and what another organization waits")
    noisy.add_argument("--requests", type=int, default=noise.REQUESTS)
    pages = named.add_parser("console", help="the CPU and the size of the console's pages")
    pages.add_argument("--large", action="store_true", help="also of 1,000 users, 5,000 tools and 100,000 audit rows")
    named.add_parser("scale", help="simulate the busiest hour of 10,000 organizations against the limits of AWS")
    named.add_parser("imports", help="the imports of each function, by their cost")
    flows = named.add_parser("workflows", help="six workflows as batches, against their ideal")
    flows.add_argument("only", nargs="*", help="the names of some")
    chosen = parser.parse_args()
    if chosen.named == "workflows":
        workflows.measure(chosen.only)
        return
    if chosen.named == "scale":
        scale.measure()
        return
    if chosen.named == "imports":
        imports.measure()
        return
    if chosen.named == "noise":
        noise.measure(chosen.requests)
        return
    if chosen.named == "console":
        console.measure(large=chosen.large)
        return
    if chosen.named == "load":
        load.measure(chosen.clients, chosen.minutes * 60, chosen.batches)
        return
    with run_stub_deployment() as stub:
        rows = [] if chosen.named else inside(stub)
        costs.measure(stub)
    if not chosen.named:
        text = f"Measured {measured()}.\n\n{table(('what', 'seen', 'at most'), rows)}"
        print(text)
        keep(text, BENCHMARKS, "bench")


def inside(stub: StubDeployment) -> list[Row]:
    """Measure what needs only one seeded deployment."""
    deployment, folder = stub.deployment, stub.folder
    rows = [*catalogue.rows(), *caching(stub.service.url), *sandboxes(stub)]
    rows += [*requests(deployment), *broker.rows(deployment, folder), *planning()]
    return [*rows, *command_line(deployment), *batches(deployment), *shapes(deployment)]


def sandboxes(stub_deployment: StubDeployment) -> list[Row]:
    """Compare cold and warm CPU of the endpoint with a bare server's, alternating."""
    deployment, folder = stub_deployment.deployment, stub_deployment.folder
    events = {name: stub_deployment.event_file(name) for name in ("list_tools", "call")}
    environment = sandbox_environment(deployment.aws, "McpEndpointFunction", folder)
    crowd = with_modules(folder / "crowd", ROOT / "infra/bench/stub.py") / "layers/services"
    index = crowd / "mcpist_services" / INDEX_FILE
    stub = Index.load(index.read_text("utf-8")).modules["stub"]
    index.write_text(catalogue.large_catalogue(stub).dump(), "utf-8")
    paths = {"crowd": os.pathsep.join([str(crowd), environment["PYTHONPATH"]])}
    found = _sandbox_rounds(environment, paths, [events["list_tools"], events["call"]])
    cold, bare_cold = (_median(found[which], "cold_ms") for which in ("ours", "bare"))
    warm, bare_warm = (_median(found[which], "warm_us") for which in ("ours", "bare"))
    own = _median(found["ours"], "own_us")
    crowded = _median(found["crowd"], "cold_ms")
    return [
        ("cold CPU to the first `tools/list`, against a bare SDK server", _ratio(cold, bare_cold, "ms"), "1"),
        ("cold CPU with 5,000 more tools in the catalogue, against without", _ratio(crowded, cold, "ms"), "1.1"),
        ("warm CPU of a `tools/call` of a stub tool, against the bare server", _ratio(own, bare_warm, "us"), "1.5"),
        ("the same with its audit row, which is one PutItem", _ratio(warm, bare_warm, "us"), "4"),
    ]


def _sandbox_rounds(
    environment: dict[str, str], paths: dict[str, str], events: list[str]
) -> dict[str, list[dict[str, float]]]:
    """Measure fresh processes of each kind in turn; a kind in `paths` has another PYTHONPATH."""
    found: dict[str, list[dict[str, float]]] = {"ours": [], "bare": [], "crowd": []}
    pipe = subprocess.PIPE
    for number in range(SANDBOXES + 1):  # the first round writes the bytecode and does not count
        say(f"sandboxes: round {number} of {SANDBOXES}")
        for which, values in found.items():
            server = "bare" if which == "bare" else "ours"
            command = [sys.executable, "-m", "infra.bench.sandbox", server, *events]
            path = {"PYTHONPATH": paths.get(which, environment["PYTHONPATH"])}
            process = subprocess.run(command, env=environment | path, cwd=ROOT, stdout=pipe, text=True, check=True)  # noqa: S603
            if number:
                values.append(json.loads(process.stdout.splitlines()[-1]))
    return found


def requests(deployment: LocalDeployment) -> list[Row]:
    """Count the AWS requests of a `call` that needs a grant, in cold sandboxes and in warm ones."""
    accounts.connect(deployment, "stub", "stub-token")
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
    rows: list[Row] = []
    for state in ("cold", "warm"):
        if state == "cold":
            for pool in deployment.aws.functions.values():
                pool.stop_idle()
        deployment.aws.requests.clear()
        endpoint.call("call", {"module": "stub", "tool": "ask"})
        counted = Counter(request.function for request in deployment.aws.requests)
        ours, broker = counted["McpEndpointFunction"], counted["TokenBrokerFunction"]
        aim = "3 + 3" if state == "cold" else "1 + 0"
        rows.append((f"AWS requests of a {state} `call` with a grant (endpoint + broker)", f"{ours} + {broker}", aim))
    return rows


def caching(host: str) -> list[Row]:
    """Compare the CPU of a repeated read with and without the response cache."""
    module = Module("stub", "A stub.", api_version="1", host=host)
    module.reads(shows("*"), cache_seconds=60)(ask)
    seen: dict[str, float] = {}
    os.environ["LOCAL_SERVICES"] = "on"  # the stub's service is on loopback
    for state in ("off", "on"):
        os.environ["RESPONSE_CACHE"] = state
        settings.cache_clear()
        service = StubClient(module)
        service.request(ask())
        started = time.process_time()
        for _ in range(CALLS):
            service.request(ask())
        seen[state] = (time.process_time() - started) / CALLS * 1_000_000
    settings.cache_clear()
    ratio = _ratio(seen["on"], seen["off"], "us")
    return [("CPU of a read that repeats, with the response cache against without", ratio, "")]


class StubClient(ServiceClient):
    """A service with a known account, without a broker."""

    def __init__(self, module: Module) -> None:
        caller = Caller(ORGANIZATION, USER.sub, Subject("bench", USER.sub), "user", ())
        super().__init__(caller, module, module.tools["ask"], time.monotonic() + 60)

    def resolve_account(self, *, fresh: bool = False) -> None:  # noqa: ARG002 - the account never changes
        """Use the stub's account."""
        credential = Credential("stub-token", account_id="1", account_name="stub", owner="user#uma", expires_at=None)
        self.current_account = Account(ORGANIZATION, self.module, credential)


def ask() -> Call:
    """Ask the stub's service."""
    return Call("GET", "/")


def planning() -> list[Row]:
    """Measure the CPU of planning a hundred steps, each of which refers to another, with their machine."""
    lines = [{"id": "s0", "module": "rag", "tool": "search_docs", "params": {"query": "batch"}}]
    for number in range(1, 100):
        path = f"${{s{number // 2}.items[0].path}}"
        lines.append({"id": f"s{number}", "module": "rag", "tool": "get_doc", "params": {"path": path}})
    text = "\n".join(map(json.dumps, lines))
    plan_batch(text)
    started = time.process_time()
    for _ in range(ROUNDS):
        plan_batch(text)
    seconds = (time.process_time() - started) / ROUNDS
    return [("CPU of planning 100 steps, with their machine", f"{seconds * 1000:.0f} ms", "50 ms")]


def command_line(deployment: LocalDeployment) -> list[Row]:
    """Measure a warm `mcpist call`, from its start to its end."""
    options = ["--url", deployment.mcp_url, "--token", deployment.token(USER)]
    command = [sys.executable, "-m", "infra.cli.main", "call", "rag", "list_tags", *options]

    def run() -> None:
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)  # noqa: S603

    run()
    before = os.times()
    wall = _seconds(run)
    after = os.times()
    cpu = (after.children_user + after.children_system - before.children_user - before.children_system) / TIMED_RUNS
    return [("a warm `mcpist call`, from its start to its end (its CPU)", f"{wall:.2f} s ({cpu:.2f} s)", "0.5 s")]


def batches(deployment: LocalDeployment) -> list[Row]:
    """Compare the wall time of batches with that of the same calls one by one."""
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
    ten = [{"id": f"s{n}", "module": "rag", "tool": "search_docs", "params": {"query": "batch"}} for n in range(10)]
    five = [{**step, "after": [f"s{n - 1}"] if n else []} for n, step in enumerate(ten[:5])]
    slow = [{**step, "module": "stub", "tool": "ask_slowly", "params": {}} for step in ten]
    rows: list[Row] = []
    for name, steps in (
        ("ten independent `rag` calls", ten),
        ("a chain of five `rag` calls", five),
        (f"ten independent calls of a service that takes {SLOW_RESPONSE_SECONDS} s", slow),
    ):
        endpoint.call("batch", {"commands": steps})  # creates the machine and warms the sandboxes
        together = _seconds(lambda steps=steps: endpoint.call("batch", {"commands": steps}))
        single = _seconds(lambda steps=steps: [endpoint.call("call", _call(step)) for step in steps])
        rows.append((f"{name}: by `batch` against one by one", _ratio(together, single, "s"), "1"))
    return rows


def shapes(deployment: LocalDeployment) -> list[Row]:
    """Measure a batch's overhead: time for each hop, and the endpoint's requests for each step."""
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
    idle: dict[str, Any] = {"module": "stub", "tool": "idle", "params": {}}
    chain = [{**idle, "id": f"s{n}", "after": [f"s{n - 1}"] if n else []} for n in range(30)]
    fan = [{**idle, "id": "list", "tool": "hundred"}, {**idle, "id": "fan", "each": "${list.items}"}]
    rows: list[Row] = []
    for name, steps, hops in (("a chain of 30 steps", chain, 30), ("a fan-out of 100 elements", fan, 100)):
        endpoint.call("batch", {"commands": steps})
        seconds = _seconds(lambda steps=steps: endpoint.call("batch", {"commands": steps}))
        rows.append((f"{name}, on the embedded stack", f"{seconds:.1f} s, {seconds / hops * 1000:.0f} ms a hop", ""))
    counts = {}
    for size in (10, 50, 100):
        steps = [{**idle, "id": f"s{n}"} for n in range(size)]
        _run_to_end(endpoint, steps)
        deployment.aws.requests.clear()
        _run_to_end(endpoint, steps)
        asked = [request for request in deployment.aws.requests if request.function == "McpEndpointFunction"]
        polls = sum(request.operation == "GetItem" for request in asked)
        counts[size] = f"{len(asked) - polls} + {polls} polls"
    seen = ", ".join(f"{size} steps: {count}" for size, count in counts.items())
    return [*rows, ("AWS requests of the endpoint for a batch", seen, "constant + 1 per 25 steps + polls")]


def _call(step: dict[str, Any]) -> dict[str, Any]:
    return {name: step[name] for name in ("module", "tool", "params")}


def _run_to_end(endpoint: Endpoint, steps: list[dict[str, Any]]) -> None:
    """Run a batch to its end."""
    summary = endpoint.call("batch", {"commands": steps}).texts[0]
    while ": running," in summary:
        summary = endpoint.call("batch", {"batch_id": summary.split()[1].rstrip(":")}).texts[0]


def _seconds(work: Any) -> float:
    times = []
    for _ in range(TIMED_RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _median(values: list[dict[str, float]], name: str) -> float:
    return statistics.median(value[name] for value in values)


def _ratio(ours: float, theirs: float, unit: str) -> str:
    digits = 2 if unit == "s" else 0
    return f"{ours / theirs:.2f} ({ours:.{digits}f} {unit} : {theirs:.{digits}f} {unit})"


if __name__ == "__main__":
    main()
