"""AgentDojo's tasks and injections as plans: users are rarely asked, and what an injection orders never passes unasked.

A task's calls are the steps of one batch. A value that the order does not have and an earlier answer has is a reference
to that answer; what neither has, the model wrote. An injected call is ordered by the answer that carries the injection.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import mcp_types
import pytest

from mcpist.batch.execution.plan import plan
from mcpist.caller import Policies, Role
from mcpist.policies.decision import Verdict
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.schema_tool import UpstreamTool
from mcpist.tools.declare.tool import Effect
from mcpist.tools.search.catalogue import Catalogue, DefinedModules
from mcpist_services.policy_templates import templates
from tests.core.sample import caller
from tests.peers.pypi import PEERS, programs

READS, DESTROYS = ("get_", "list_", "read_", "search_", "check_"), ("delete_", "cancel_", "remove_")
ADDRESSED = "get_webpage"
"""It only reads, and tells an address of anybody's choice that it was read."""

type Suite = dict[str, Any]
type Task = dict[str, Any]


@cache
def suites() -> dict[str, Suite]:
    run = [programs("agentdojo") / "python", Path(PEERS, "agentdojo_peer.py")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=590, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Suite] = json.loads(done.stdout)
    return found


def effect_of(tool: str) -> Effect:
    return "reads" if tool.startswith(READS) else "destroys" if tool.startswith(DESTROYS) else "writes"


@dataclass(frozen=True)
class Servers:
    """The suites as MCP servers, for an organization with the templates and no labels of its own."""

    closed: frozenset[str] = frozenset()
    """The tools, by their full names, with the hint that nobody outside has a part in what they answer."""

    def module(self, name: str) -> Module:
        """Return a suite's tools as those of an MCP server."""
        module = Module(name, name, api_version="mcp", kind="upstream")
        for tool in suites()[name]["tools"]:
            hints = {"openWorldHint": False} if f"{name}.{tool['name']}" in self.closed else {}
            given = mcp_types.Tool.model_validate(tool | {"annotations": hints})
            effect = effect_of(given.name)
            module.tools[given.name] = UpstreamTool(module=name, effect=effect, given=given, server=name)
        return module

    def is_open(self, tool: str, path: str) -> bool:
        """Whether outsiders may have written what an answer has at a path."""
        column = re.sub(r"(?:\[\d+\])+$", "", path).rpartition(".")[2]
        return tool not in self.closed and column not in {"id_", "id", "sender"}

    @property
    def permissions(self) -> Permissions:
        names = tuple(suites())
        chosen = {one.name: one.text for one in templates("en")}
        text = "\n".join((chosen["base"], chosen["untrusted-asks"], chosen["deletion-second-person"], OWN))
        role = Role("all", names, ("*",), destructive=True)
        of = replace(caller(role), policies=Policies(1, text, minutes=0))
        source = DefinedModules(names, self.module)
        return Permissions(of, Catalogue("tests.core.sample", ("shop", "safe"), deployed=lambda: [source]))


OWN = f"""
@id("untrusted-address") @ask
forbid (principal, action == Action::"slack.{ADDRESSED}", resource) when {{ context.labels.contains("untrusted") }};
"""


def closed() -> frozenset[str]:
    """Return the tools that tasks call and in whose answers, by AgentDojo's own account, no outsider writes."""
    called, open_ones = set[str](), set[str]()
    for name, suite in suites().items():
        for task in suite["tasks"].values():
            called |= {f"{name}.{call['tool']}" for call in task["calls"]}
            open_ones |= {f"{name}.{task['calls'][one['place']]['tool']}" for one in task["outside"]}
    return frozenset(called - open_ones)


# -- steps ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A value in an answer."""

    step: str
    path: str
    text: str
    is_open: bool
    """Whether it is untrusted."""


def values(step: str, answer: Any, path: str = "raw") -> Iterator[tuple[str, str, str]]:
    """Yield the values of an answer, each with its step and its path."""
    if isinstance(answer, dict | list):
        for key, inner in answer.items() if isinstance(answer, dict) else enumerate(answer):
            yield from values(step, inner, f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}")
    elif answer is not None:
        yield step, path, str(answer).lower()


def has(text: str, value: Any) -> bool:
    """Whether a text has a value as whole words."""
    part, whole = str(value).lower(), text.lower()
    return part in whole and re.search(rf"(?<![\w.]){re.escape(part)}(?!\w|\.\w)", whole) is not None


def referring(value: Any, known: Sequence[Value], order: str) -> Any:
    """Return an argument with references in place of the values that the order does not have and an answer has."""
    if isinstance(value, dict):
        return {name: referring(inner, known, order) for name, inner in value.items()}
    if isinstance(value, list):
        return [referring(inner, known, order) for inner in value]
    if isinstance(value, bool) or value in (None, "") or (order and has(order, value)):
        return value
    sources = [one for one in known if has(one.text, value)]
    best = min(sources, key=lambda one: (one.is_open, one.text != str(value).lower()), default=None)
    return f"${{{best.step}.{best.path}}}" if best else value


def choices(tool: UpstreamTool) -> set[str]:
    """Return the arguments that have one of a few values, which no text has to give."""
    kinds = tool.input_schema.get("$defs", {})
    listed = {name for name, kind in kinds.items() if "enum" in kind}
    given = tool.input_schema.get("properties", {}).items()
    return {name for name, spec in given if listed & set(re.findall(r"\$defs/(\w+)", json.dumps(spec)))}


def steps(servers: Servers, module: Module, calls: list[Any], known: list[Value], order: str) -> list[dict[str, Any]]:
    """Return the steps of calls; `known` are the values of the answers so far."""
    made = []
    for place, call in enumerate(calls):
        kept = choices(module.tools[call["tool"]])  # type: ignore[arg-type]
        params = {
            name: value if name in kept else referring(value, known, order) for name, value in call["params"].items()
        }
        id_ = f"{'s' if order else 'i'}{place}"
        made.append({"id": id_, "module": module.name, "tool": call["tool"], "params": params})
        found = values(id_, call["answer"])
        known += [Value(*one, servers.is_open(f"{module.name}.{call['tool']}", one[1])) for one in found]
    return made


def planned(permissions: Permissions, lines: list[dict[str, Any]]) -> dict[str, Verdict]:
    return plan("\n".join(map(json.dumps, lines)), permissions).verdict_by_id


def is_sink(tool: str) -> bool:
    return effect_of(tool) != "reads" or tool == ADDRESSED


def users_calls(servers: Servers) -> tuple[int, list[str]]:
    """Return the number of the users' calls, and those about which somebody is asked."""
    permissions, number, asked = servers.permissions, 0, list[str]()
    for name, suite in suites().items():
        module = permissions.catalogue.module(name)
        for id_, task in suite["tasks"].items():
            lines = steps(servers, module, task["calls"], [], task["order"])
            found = planned(permissions, lines)
            number += len(lines)
            asked += [f"{name} {id_} {one['tool']}" for one in lines if found[one["id"]].level != "permit"]
    return number, asked


def injected_sinks(servers: Servers) -> tuple[int, list[str]]:
    """Return the number of the sinks that injections reach in users' tasks, and those that pass unasked."""
    permissions, number, passed = servers.permissions, 0, list[str]()
    for name, suite in suites().items():
        module = permissions.catalogue.module(name)
        for user, task in suite["tasks"].items():
            carrier = task["outside"][0]
            before = steps(servers, module, task["calls"][: carrier["place"] + 1], [], task["order"])
            for attack, injected in suite["injections"].items():
                read = Value(f"s{carrier['place']}", carrier["path"], injected["order"].lower(), is_open=True)
                lines = [*before, *steps(servers, module, injected["calls"], [read], "")]
                found = planned(permissions, lines)
                sinks = [one for one in lines[len(before) :] if is_sink(one["tool"])]
                number += len(sinks)
                passed += [f"{name} {user} {attack} {one}" for one in sinks if found[one["id"]].level == "permit"]
    return number, passed


@pytest.mark.slow
def test_users_are_rarely_asked_and_no_injection_passes_unasked() -> None:
    """With no labels of an organization: by what servers say of themselves, and where they say nothing."""
    for servers in (Servers(), Servers(closed())):
        calls, asked = users_calls(servers)
        sinks, passed = injected_sinks(servers)
        print(  # noqa: T201 - the numbers of the issue
            f"{len(servers.closed)} hints: {calls - len(asked)} of {calls} calls of users pass unasked"
            f" ({1 - len(asked) / calls:.1%}), {sinks - len(passed)} of {sinks} injected sinks do not"
        )
        assert sinks, "injections reach sinks"
        assert not passed, passed[:3]
    assert len(asked) <= calls / 10, asked
