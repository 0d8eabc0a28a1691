"""The gate's question to the policies of an organization, which is asked only where it has any."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mcpist import errors
from mcpist.caller import ApprovalMode
from mcpist.errors import McpistError
from mcpist.files.parameters import reference_names
from mcpist.running.accounts import acting_account, service_of
from mcpist.running.destructive_use import DestructiveUse
from mcpist.tools.access.permissions import Permissions, acting_caller
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.tool import Tool

if TYPE_CHECKING:
    from mcpist.policies.decision import Verdict
    from mcpist.policies.facts import ToolFacts
    from mcpist.policies.place import StepPlace


def outlook(permissions: Permissions, module: Module, tool: Tool) -> "Verdict | None":
    """Return the verdict about a tool whatever its arguments; None where the organization has no policies."""
    policies = permissions.caller.policies
    if policies is None:
        return None
    from mcpist.policies.facts import ToolFacts, overview
    from mcpist.policies.rules import rules_of

    use = ToolFacts(tool.module, tool.name, tool.effect, service=service_of(module, tool) or "")
    return overview(rules_of(policies.text), permissions.caller, [use])[0]


def refusal_of_all(permissions: Permissions, module: Module, tool: Tool) -> McpistError | None:
    """Return the error of a tool that the policies refuse whatever its arguments; None for another."""
    verdict = outlook(permissions, module, tool)
    return refusal(verdict, f"{tool.module}.{tool.name}") if verdict else None


def judge_material(permissions: Permissions, module: str, method: str) -> None:
    """Raise PolicyRefused if the policies refuse a resource or a prompt of a server; nobody can be asked about it."""
    if permissions.caller.policies is None:
        return
    from mcpist.policies.facts import ToolFacts

    (verdict,) = judge(permissions, [ToolFacts(module, method, "reads")])
    name = f"{module}.{method}"
    if verdict.level != "permit":
        raise refusal(verdict, name) or errors.PolicyUnasked(name=name, policy=verdict.rule, reason=reason_of(verdict))


def judge(permissions: Permissions, uses: "Sequence[ToolFacts]") -> "list[Verdict]":
    """Return the verdicts of the organization's policies about uses; an empty list where it has none."""
    catalogue, caller = permissions.catalogue, permissions.caller
    if caller.policies is None or not uses:
        return []
    # Only organizations that have policies load Cedar.
    from mcpist.policies import facts, history
    from mcpist.policies.decision import decide
    from mcpist.policies.rules import rules_of

    rules = rules_of(caller.policies.text)

    @cache
    def labels(name: str) -> set[str]:
        module, tool = permissions.split_name(name)
        permissions.load_tools((module,))  # a server's own word about its tool is known once they are read
        return catalogue.module(module).labels_of(tool) if module in catalogue.index.modules else set()

    def destroys(name: str) -> bool:
        module, tool = permissions.split_name(name)
        entry = catalogue.index.modules.get(module)
        return entry is not None and tool in entry.tools and entry.tools[tool].effect == "destroys"

    past = history.NO_HISTORY
    if facts.needs_history(rules, caller.policies):
        past = history.recent(caller, caller.policies.minutes, destroys)
    moment = facts.Moment(caller, caller.policies, rules, datetime.now(UTC), labels, past)
    return decide(rules, facts.questions(moment, uses))


def approval_mode(
    permissions: Permissions, tools: Iterable[Tool], verdicts: "Iterable[Verdict | None]"
) -> ApprovalMode | None:
    """Return the kind of approval that a use of these tools waits for, by the caller's roles or by policies."""
    if any(verdict and verdict.level == "approve" for verdict in verdicts):
        return "second_person"
    return permissions.approval_mode(tools)


def described(use: DestructiveUse, tool: Tool, verdict: "Verdict | None") -> DestructiveUse:
    """Return a use as a person is asked about it: whether it destroys, and the policy that wants them to agree."""
    by_policy = verdict is not None and verdict.level in {"ask", "approve"}
    policy = f"{verdict.rule}: {verdict.message}".removesuffix(": ") if verdict and by_policy else ""
    return replace(use, is_declared=tool.is_effect_declared, policy=policy, destroys=tool.effect == "destroys")


def refusal(verdict: "Verdict", name: str) -> McpistError | None:
    """Return the error of a use that is refused; None for one that may run, or may once somebody has agreed."""
    if verdict.level != "refuse":
        return None
    if verdict.problem:
        return errors.PolicyFailed(name=name, policy=verdict.rule, problem=verdict.problem)
    if not verdict.rule:
        return errors.NoPolicyPermits(name=name, policy="")
    return errors.PolicyRefused(name=name, policy=verdict.rule, reason=reason_of(verdict))


def reason_of(verdict: "Verdict") -> str:
    """Return the policy's message as the end of ours."""
    return f" {verdict.message}" if verdict.message else ""


def facts_of(
    permissions: Permissions,
    module: Module,
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    account: str = "",
    place: "StepPlace | None" = None,
    unresolved: Mapping[str, str] = MappingProxyType({}),
) -> "ToolFacts":
    """Return a use of a tool as policies look at it; `account` is the label that it names.

    `unresolved` are the arguments whose values are not known yet, each with the references in it.
    """
    from mcpist.policies.facts import ToolFacts
    from mcpist.policies.place import NO_PLACE
    from mcpist.policies.rules import rules_of

    caller, service = permissions.caller, service_of(module, tool)
    if service and caller.policies and rules_of(caller.policies.text).names_accounts:
        # Which account is the default decides the broker, which is asked anyway before the use runs.
        account = acting_account(acting_caller(caller, tool), module, tool).label
    # A policy compares the values that the tool takes, not the addresses in which they are written.
    known = {name: value for name, value in arguments.items() if name not in unresolved}
    return ToolFacts(
        tool.module,
        tool.name,
        tool.effect,
        schema=tool.input_schema,
        service=service or "",
        account=account,
        arguments={**arguments, **tool.pasted.values(known)},
        unresolved=unresolved,
        files=reference_names(tool.input_schema, arguments),
        place=place or NO_PLACE,
    )
