"""Facts about a use of a tool that a policy may look at, as Cedar takes them."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any
from zoneinfo import ZoneInfo

from mcpist.caller import Caller, Policies
from mcpist.policies.argument_types import CedarType, WrongValue, argument_type, cedar_value
from mcpist.policies.decision import OPEN, PolicyRequest, Unknown, Verdict, decide
from mcpist.policies.history import NO_HISTORY, History
from mcpist.policies.place import NO_PLACE, StepPlace
from mcpist.policies.rules import Path, RuleSet
from mcpist.tools.declare.tool import ASKING

# The domain is behind the last @; a comment may follow.
_ADDRESS = re.compile(r"(?:[^<>]*<)?[^\s<>]+@([^@\s<>()]+)>?(?:\s*\([^()]*\))?")
# It begins where blanks begin: at each of a million blanks it would look at all the others once more.
_BETWEEN_ADDRESSES = re.compile(r"[,;]|(?<!\s)\s+(?=\S+@)")
POLICY_ADMINISTRATION = "mcpist.policies"
"""The action of an administrator who changes the policies."""


def groups_of(module: str, tool: str, effect: str) -> set[str]:
    """Return an action with the groups that it is in; what asks or destroys also writes."""
    return {f"{module}.{tool}", f"{module}.*", effect, *(("writes",) if effect in ASKING else ())}


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A use of a tool, or of a resource or a prompt of a server."""

    module: str
    name: str
    effect: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    service: str = ""
    account: str = ""
    """The label of the account that acts, where that is known."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    unresolved: Mapping[str, str] = field(default_factory=dict)
    """The arguments whose values are not known, each with the references in it."""
    files: Collection[str] = ()
    """The arguments that stand in files, which no policy can look into."""
    place: StepPlace = NO_PLACE

    @property
    def full_name(self) -> str:
        """The name of the action."""
        return f"{self.module}.{self.name}"

    @property
    def groups(self) -> frozenset[str]:
        """The action with the groups that it is in."""
        return frozenset(groups_of(self.module, self.name, self.effect))

    @property
    def account_name(self) -> str:
        """The name of the account among Cedar's entities."""
        return f"{self.service or self.module}/{self.account}"


@dataclass(frozen=True, slots=True)
class Moment:
    """The facts that all uses share which are decided together."""

    caller: Caller
    policies: Policies
    rules: RuleSet
    now: datetime
    declared_labels: Callable[[str], Collection[str]]
    """Returns the labels that the folder of a tool declares, by its full name."""
    history: History = NO_HISTORY


def questions(moment: Moment, uses: Sequence[ToolFacts]) -> list[PolicyRequest]:
    """Return the questions about some uses."""
    known = entities(moment.caller, uses)
    return [_question(moment, one, known) for one in uses]


def needs_history(rules: RuleSet, policies: Policies) -> bool:
    """Whether the audit must be read."""
    looked_at = ("before", "recent", *(("labels",) if policies.remembers else ()))
    return policies.minutes > 0 and any(map(rules.lookers, looked_at))


def overview(rules: RuleSet, caller: Caller, uses: Sequence[ToolFacts]) -> list[Verdict]:
    """Return the verdicts about uses of which only the person and the tool are known."""
    known = entities(caller, uses)
    unknown: dict[Path, Unknown] = {(name,): Unknown(name) for name in ("args", *_FACTS)}
    asked = [
        PolicyRequest(caller.user, one.full_name, one.groups, one.account_name, known, {}, unknown) for one in uses
    ]
    return decide(rules, asked)


def _question(moment: Moment, use: ToolFacts, known: str) -> PolicyRequest:
    rules = moment.rules
    context: dict[str, Any] = {name: fact(moment, use) for name, fact in _FACTS.items() if rules.lookers(name)}
    problem, unknown = "", _unknown_steps(moment, use)
    if use.unresolved and rules.lookers("domains"):
        unknown["domains",] = Unknown(", ".join(dict.fromkeys(use.unresolved.values())))
    if rules.lookers("args"):
        try:
            context["args"], open_arguments = _arguments(rules, use)
            unknown |= open_arguments
        except WrongValue as error:
            problem = str(error)
    return PolicyRequest(
        moment.caller.user, use.full_name, use.groups, use.account_name, known, context, unknown, problem
    )


def _arguments(rules: RuleSet, use: ToolFacts) -> tuple[dict[str, Any], dict[Path, Unknown]]:
    """Return the arguments that policies look at, and those that are not known; WrongValue if one cannot be told."""
    known: dict[str, Any] = {}
    unknown: dict[Path, Unknown] = {}
    properties = use.schema.get("properties", {})
    for name in properties if rules.arguments is None else properties.keys() & rules.arguments:
        if not (kind := argument_type(use.schema, name)):
            continue
        if name in use.unresolved:
            choices = (OPEN,) if kind.get("required", True) else (OPEN, None)
            unknown["args", name] = Unknown(use.unresolved[name], choices)
            continue
        if name in use.files:
            raise WrongValue(f"the argument {name} stands in a file")
        value = use.arguments.get(name)
        if (value := properties[name].get("default") if value is None else value) is not None:
            known[name] = _told(kind, name, value)
    return known, unknown


def _told(kind: CedarType, name: str, value: Any) -> Any:
    try:
        return cedar_value(kind, value)
    except WrongValue as error:
        raise WrongValue(f"the argument {name}: {error}") from None


def _unknown_steps(moment: Moment, use: ToolFacts) -> dict[Path, Unknown]:
    """Return the facts that depend on how other steps of a batch end."""
    place, unknown = use.place, dict[Path, Unknown]()
    if place.perhaps_before and moment.rules.lookers("before"):
        unknown["before",] = Unknown("the steps before it")
    counted = {"writes": place.writes, "destroys": place.destroys, "uses": place.uses}
    for name, (low, high) in counted.items():
        base = _recent(moment, use)[name]
        if high != 0 and moment.rules.lookers("recent", name):
            choices = (OPEN,) if high is None else tuple(range(base + low, base + high + 1))
            unknown["recent", name] = Unknown("the other steps", choices)
    return unknown


def entities(caller: Caller, uses: Iterable[ToolFacts]) -> str:
    """Return JSON of the caller in its roles, the actions in their groups, and the accounts in their services.

    What asks or destroys also writes.
    """
    roles = [_uid("Role", role) for role in caller.role_names]
    user = {"uid": _uid("User", caller.user), "attrs": {"admin": caller.system_role == "admin"}, "parents": roles}
    found = {effect: _entity("Action", effect, ("Action", "writes")) for effect in sorted(ASKING)} | {"": user}
    for use in uses:
        groups = ("Action", f"{use.module}.*"), ("Action", use.effect)
        found[use.full_name] = _entity("Action", use.full_name, *groups)
        found[f"/{use.account_name}"] = _entity("Account", use.account_name, ("Service", use.service or use.module))
    return json.dumps(list(found.values()))


def _entity(kind: str, name: str, *parents: tuple[str, str]) -> dict[str, Any]:
    return {"uid": _uid(kind, name), "attrs": {}, "parents": [_uid(*parent) for parent in parents]}


def _uid(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "id": name}


def _time(moment: Moment, _: ToolFacts) -> dict[str, int]:
    local = moment.now.astimezone(ZoneInfo(moment.policies.time_zone))
    return {"hour": local.hour, "minute": local.minute, "weekday": local.isoweekday()}


def _before(moment: Moment, use: ToolFacts) -> list[dict[str, Any]]:
    names = sorted(use.place.before | moment.history.succeeded)
    return [{"__entity": _uid("Action", name)} for name in names]


def _recent(moment: Moment, use: ToolFacts) -> dict[str, int]:
    past = moment.history
    return {"writes": past.writes, "destroys": past.destroys, "uses": past.uses.get(use.module, 0)}


def _domains(value: Any) -> Iterator[str]:
    """Yield the domains of the mail addresses that arguments consist of, alone or several; not of those in a text."""
    if isinstance(value, str):
        yield from (
            found[1].lower() for one in _BETWEEN_ADDRESSES.split(value) if (found := _ADDRESS.fullmatch(one.strip()))
        )
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _domains(one)


def _labels(moment: Moment, use: ToolFacts) -> list[str]:
    """Return the labels of what reaches the arguments; what holds no text is not untrusted."""
    remembered = moment.history.succeeded if moment.policies.remembers else frozenset()
    plain = set(_labels_of(moment, use.place.plain_of)) - {"untrusted"}
    return sorted(plain.union(_labels_of(moment, use.place.reached_by | remembered)))


def _target(moment: Moment, use: ToolFacts) -> list[str]:
    """Return the labels of where a use leads."""
    return _labels_of(moment, {use.full_name}, use.account_name)


def _labels_of(moment: Moment, tools: Iterable[str], account: str = "") -> list[str]:
    """Return the labels of tools: those that the organization gives them or the account, else the declared ones."""
    found: set[str] = set()
    for tool in tools:
        # What holds for a tool holds for none of its columns that have labels of their own.
        given = [line.partition("=") for line in moment.policies.labels if (":" in line) == (":" in tool)]
        own = {label for mask, _, label in given if fnmatchcase(tool, mask) or mask == account}
        found |= own or set(moment.declared_labels(tool))
    return sorted(found)


_FACTS = {
    "client": lambda moment, _: moment.caller.client.name,
    "batch": lambda _, use: use.place.in_batch,
    "time": _time,
    "before": _before,
    "recent": _recent,
    "domains": lambda _, use: sorted(_domains(list(use.arguments.values()))),
    "labels": _labels,
    "target": _target,
}
