"""The checks of policies before they are saved."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mcpist.caller import Caller, Policies, Subject
from mcpist.errors import InvalidPolicies, InvalidPolicy, PolicyRefused
from mcpist.people.organization import Organization
from mcpist.policies.argument_types import argument_type
from mcpist.policies.facts import POLICY_ADMINISTRATION, ToolFacts, groups_of, overview
from mcpist.policies.rules import PolicyRule, RuleSet, rules_of
from mcpist.policies.schema import schema_of
from mcpist.suggestions import nearest
from mcpist.tools.declare.tool import Tool
from mcpist.tools.search.catalogue import ModuleSource

LABELS = ("internal", "customer", "public", "untrusted")
MAX_LABEL_LINES, MAX_LABEL_CHARACTERS = 200, 200
MAX_MINUTES = 1_440
MAX_CHECK_SECONDS = 10.0
MAX_SHOWN_PROBLEMS = 20


def check(policies: Policies, organization: Organization, catalogue: ModuleSource) -> RuleSet:
    """Return the rules of policies that may be saved; InvalidPolicy with all `problems`, each with its policy's id."""
    _check_settings(policies)
    rules, tools = rules_of(policies.text), list(_tools(catalogue))
    problems = list(_type_problems(policies.text, rules, tools))
    for rule in rules.rules.values():
        problems += [(rule.id, problem) for problem in _problems(rule, tools, organization)]
    if problems:
        shown = [{"policy": rule, "problem": problem} for rule, problem in dict.fromkeys(problems)][:MAX_SHOWN_PROBLEMS]
        raise InvalidPolicy(field="text", **shown[0], problems=shown)
    if not any(may_change(user, policies, organization) for user in organization.administrators):
        problem = f"no administrator could change them again: permit {POLICY_ADMINISTRATION} to somebody"
        raise InvalidPolicies(field="text", problem=problem)
    return rules


def require_change(caller: Caller, organization: Organization) -> None:
    """Raise PolicyRefused if the present policies let this administrator change none."""
    present = organization.policies
    if present and not may_change(caller.user, present, organization):
        raise PolicyRefused(
            name=POLICY_ADMINISTRATION, policy=f"{POLICY_ADMINISTRATION}, version {present.version}", reason=""
        )


def may_change(user: str, policies: Policies, organization: Organization) -> bool:
    """Whether policies let an administrator change them, at some time and with some client."""
    roles = tuple(organization.roles[name] for name in organization.roles_of(organization.user(user)))
    caller = Caller(organization.id, user, Subject("", ""), "admin", roles)
    module, _, name = POLICY_ADMINISTRATION.partition(".")
    (verdict,) = overview(rules_of(policies.text), caller, [ToolFacts(module, name, "administers")])
    return verdict.level != "refuse"


def _check_settings(policies: Policies) -> None:
    try:
        ZoneInfo(policies.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidPolicies(field="time_zone", problem="it is a time zone such as Europe/Berlin") from None
    if not 0 <= policies.minutes <= MAX_MINUTES:
        raise InvalidPolicies(field="minutes", problem=f"it is a number from 0 to {MAX_MINUTES:,}")
    if len(policies.labels) > MAX_LABEL_LINES:
        raise InvalidPolicies(field="labels", problem=f"there are at most {MAX_LABEL_LINES}")
    for line in policies.labels:
        mask, _, label = line.partition("=")
        if not mask or label not in LABELS or len(line) > MAX_LABEL_CHARACTERS:
            problem = f'"{line[:MAX_LABEL_CHARACTERS]}" is no mask=label; labels are {", ".join(LABELS)}'
            raise InvalidPolicies(field="labels", problem=problem)


def _tools(catalogue: ModuleSource) -> Iterator[Tool]:
    catalogue.load_tools(set(catalogue.index.modules))
    for name in catalogue.index.modules:
        yield from catalogue.module(name).tools.values()


def _type_problems(text: str, rules: RuleSet, tools: list[Tool]) -> Iterator[tuple[str, str]]:
    """Yield the problems that Cedar's type checker finds; InvalidPolicies if that takes too long."""
    from cedarpy import Schema, validate_policies

    pool: Executor = ThreadPoolExecutor(1)
    try:
        schema = Schema.from_json_str(schema_of(tools))
        found = pool.submit(validate_policies, text, schema, release_gil=True).result(MAX_CHECK_SECONDS)
    except TimeoutError:
        problem = f"checking them takes more than {MAX_CHECK_SECONDS:.0f} seconds: make them simpler"
        raise InvalidPolicies(field="text", problem=problem) from None
    finally:
        pool.shutdown(wait=False)
    names = {f"policy{place}": name for place, name in enumerate(rules.rules)}
    for error in found.errors:
        rule = names.get(error.policy_id, error.policy_id)
        yield rule, error.error.removeprefix(f"for policy `{error.policy_id}`, ")


def _problems(rule: PolicyRule, tools: list[Tool], organization: Organization) -> Iterator[str]:
    """Yield the other problems: names of arguments, services and people, and a rule about itself."""
    scope = [one for one in tools if not rule.actions or rule.actions & groups_of(one.module, one.name, one.effect)]
    for name in sorted({path[1] for path in rule.paths if path[:1] == ("args",) and len(path) > 1}):
        known = {one for tool in scope for one in tool.input_schema.get("properties", {})}
        if name not in known:
            yield f'no tool of the policy has an argument "{name}" (arguments: {nearest(name, known)})'
        elif not any(argument_type(tool.input_schema, name) for tool in scope):
            yield f'the argument "{name}" has several types: no policy can look at it'
    services = {tool.module for tool in tools} | {getattr(tool, "service", "") or tool.module for tool in tools}
    known_names = {"Service": services | {"mcpist"}, "Role": set(organization.roles), "User": set(organization.users)}
    for kind, entity in _entities_in(rule.source):
        known = known_names.get("Service" if kind == "Account" else kind, {entity})
        name = entity.partition("/")[0] if kind == "Account" else entity
        if name not in known:
            yield f'there is no {kind}::"{entity}" ({nearest(name, known)})'
    own = rule.source["action"].get("entity", {}).get("id")
    unless = [one["body"] for one in rule.source["conditions"] if one["kind"] == "unless"]
    looks_back = rule.level != "permit" and any(path[:1] == ("before",) for path in rule.paths)
    if own and looks_back and ("Action", own) in _entities_in(unless):
        yield f"it refers to itself: {own} would have to run before it runs for the first time"


def _entities_in(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the types and the names of the entities in Cedar's JSON."""
    if isinstance(node, Mapping):
        if node.keys() == {"type", "id"}:
            yield node["type"], node["id"]
        node = list(node.values())
    if isinstance(node, list):
        for one in node:
            yield from _entities_in(one)
