"""CPU in one process: a cold and a warm endpoint against a bare server, a plan, reads that are cached."""

import json
import os
import statistics
import subprocess
import sys
import time

from benchmarks import catalogue
from benchmarks.broker import sandbox_environment
from benchmarks.calls import release_places
from benchmarks.report import Row, ratio
from benchmarks.stub_deployment import StubDeployment, say
from infra.cli.plan import plan_batch
from infra.local.demo import ORGANIZATION, USER
from infra.local.deployment import LocalDeployment
from infra.source import ROOT
from mcpist.caller import Caller, Subject
from mcpist.render.shows import shows
from mcpist.running.accounts import Account
from mcpist.running.broker import Credential
from mcpist.running.run import ToolRun
from mcpist.settings import settings
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module
from mcpist.tools.search.catalogue import INDEX_FILE
from mcpist.tools.search.index import Index
from tests.project_copy import with_modules

ROUNDS = 5
SANDBOXES = 11  # of each kind, since other work on the machine slows some of them
CALLS = 200
HANDSHAKE = "2025-06-18"


def sandboxes(stub_deployment: StubDeployment) -> list[Row]:
    """Compare cold and warm CPU of the endpoint with a bare server's, alternating."""
    deployment, folder = stub_deployment.deployment, stub_deployment.folder
    events = {name: stub_deployment.event_file(name) for name in ("list_tools", "call")}
    environment = sandbox_environment(deployment.aws, "McpEndpointFunction", folder)
    crowd = with_modules(folder / "crowd", ROOT / "benchmarks/stub.py") / "layers/services"
    index = crowd / "mcpist_services" / INDEX_FILE
    stub = Index.load(index.read_text("utf-8")).modules["stub"]
    index.write_text(catalogue.large_catalogue(stub).dump(), "utf-8")
    paths = {"crowd": os.pathsep.join([str(crowd), environment["PYTHONPATH"]])}
    by_handshake = stub_deployment.event_file("call", HANDSHAKE)
    found = _sandbox_rounds(deployment, environment, paths, [events["list_tools"], events["call"], by_handshake])
    cold, bare_cold = (_median(found[which], "cold_ms") for which in ("ours", "bare"))
    warm, bare_warm = (_median(found[which], "warm_us") for which in ("ours", "bare"))
    own, handshake = (_median(found["ours"], which) for which in ("own_us", "handshake_us"))
    bare_handshake = _median(found["bare"], "handshake_us")
    crowded = _median(found["crowd"], "cold_ms")
    return [
        ("cold CPU to the first `tools/list`, against a bare SDK server", ratio(cold, bare_cold, "ms"), "1"),
        ("cold CPU with 5,000 more tools in the catalogue, against without", ratio(crowded, cold, "ms"), "1.1"),
        (
            "warm CPU of a `tools/call` of a stub tool without its audit row, against the bare server",
            ratio(own, bare_warm, "us"),
            "1.5",
        ),
        (f"the same of a client with a handshake ({HANDSHAKE})", ratio(handshake, bare_handshake, "us"), ""),
        ("such a client against one of 2026-07-28", ratio(handshake, own, "us"), "1.5"),
        (
            "a warm `tools/call` with its audit row, which is one PutItem, against the bare server",
            ratio(warm, bare_warm, "us"),
            "4",
        ),
    ]


def _sandbox_rounds(
    deployment: LocalDeployment, environment: dict[str, str], paths: dict[str, str], events: list[str]
) -> dict[str, list[dict[str, float]]]:
    """Measure fresh processes of each kind in turn; a kind in `paths` has another PYTHONPATH."""
    found: dict[str, list[dict[str, float]]] = {"ours": [], "bare": [], "crowd": []}
    pipe = subprocess.PIPE
    for number in range(SANDBOXES + 1):  # the first round writes the bytecode and does not count
        say(f"sandboxes: round {number} of {SANDBOXES}")
        for which, values in found.items():
            server = "bare" if which == "bare" else "ours"
            command = [sys.executable, "-m", "benchmarks.sandbox", server, *events]
            release_places(deployment)
            path = {"PYTHONPATH": paths.get(which, environment["PYTHONPATH"])}
            process = subprocess.run(command, env=environment | path, cwd=ROOT, stdout=pipe, text=True, check=True)  # noqa: S603
            if number:
                values.append(json.loads(process.stdout.splitlines()[-1]))
    return found


def caching(host: str) -> list[Row]:
    """Compare the CPU of a repeated read with and without the response cache."""
    module = Module("stub", "A stub.", api_version="1", host=host)
    module.reads(shows("*"), cache_seconds=60)(ask)
    seen: dict[str, float] = {}
    os.environ["LOCAL_SERVICES"] = "on"  # the stub's service is on loopback
    for state in ("off", "on"):
        os.environ["RESPONSE_CACHE"] = state
        settings.cache_clear()
        service = StubRun(module)
        service.request(ask())
        started = time.process_time()
        for _ in range(CALLS):
            service.request(ask())
        seen[state] = (time.process_time() - started) / CALLS * 1_000_000
    settings.cache_clear()
    saved = ratio(seen["on"], seen["off"], "us")
    return [("CPU of a read that repeats, with the response cache against without", saved, "")]


class StubRun(ToolRun):
    """A run with a known account, without a broker."""

    def __init__(self, module: Module) -> None:
        caller = Caller(ORGANIZATION, USER.sub, Subject("bench", USER.sub), "user", ())
        super().__init__(caller, module, module.tools["ask"], {}, time.monotonic() + 60)

    def resolve_account(self, refused: Account | None = None) -> Account:  # noqa: ARG002 - the account never changes
        """Return the stub's account."""
        credential = Credential("stub-token", account_id="1", account_name="stub", owner="user#uma", expires_at=None)
        self.account = Account(ORGANIZATION, self.module, credential)
        return self.account


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
    bare, with_policies = _planning_seconds(text), _planning_seconds(text, _fifty_policies())
    added = (with_policies - bare) * 1000
    return [
        ("CPU of planning 100 steps, with their machine", f"{bare * 1000:.0f} ms", "50 ms"),
        ("CPU that 50 policies add to it", f"{added:.0f} ms", "20 ms"),
    ]


def _planning_seconds(text: str, policies: str = "") -> float:
    plan_batch(text, policies)
    started = time.process_time()
    for _ in range(ROUNDS):
        plan_batch(text, policies)
    return (time.process_time() - started) / ROUNDS


def _fifty_policies() -> str:
    """Return policies on the arguments of one service's tools and of others, on flow, order, time and client."""
    path = "context.args has path && context.args.path like"
    kinds = (
        (5, 'action in Action::"rag.*"', f'{path} "secret{{0}}/*"'),
        (25, 'action in Action::"github.*"', 'context.args has owner && context.args.owner == "owner{0}"'),
        (6, "action", "context.time.hour == {0} && context.time.weekday > 5"),
        (4, 'action in Action::"writes"', 'context.client == "client{0}"'),
        (3, 'action in Action::"rag.*"', 'context.labels.contains("label{0}")'),
        (3, 'action in Action::"rag.*"', 'context.before.contains(Action::"github.tool{0}")'),
        (3, 'action in Action::"rag.*"', 'context.domains.contains("example{0}.com")'),
    )
    made = [
        f'@id("{place}-{number}") forbid (principal, {action}, resource) when {{{{ {condition} }}}};'.format(number)
        for place, (count, action, condition) in enumerate(kinds)
        for number in range(count)
    ]
    return "\n".join(['@id("base") permit (principal, action, resource);', *made])


def _median(values: list[dict[str, float]], name: str) -> float:
    return statistics.median(value[name] for value in values)
