"""Decide: what the policies say of uses whose facts are known in full or in part.

A use is permitted if a policy permits it and none forbids it. A policy that forbids with @ask or @approve is met by a
person's agreement. Whatever cannot be evaluated is refused.
"""

import json
import re
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any

from mcpist.caller import POLICY_LEVELS, PolicyLevel
from mcpist.policies.rules import Path, PolicyRule, RuleSet, strictest

MAX_WORLDS = 16
"""The combinations of values, of facts that are not known, which are evaluated one by one."""
MAX_COMPARISONS = 500_000_000
"""The characters of texts, by those of patterns, that one decision may compare: some seconds of Cedar's."""
MAX_DECISION_SECONDS = 5.0
"""For uses of which something is not known; each takes milliseconds."""
TOO_SLOW = "deciding about it takes too long"
_UNKNOWN = re.compile(r'"unknown": \[\{"Value": ("(?:[^"\\]|\\.)*")')
_ERROR_RULE = re.compile(r"policy `([^`]+)`")


OPEN = object()
"""Any value."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that is not known yet."""

    text: str
    """What it depends on."""
    choices: tuple[Any, ...] = (OPEN,)
    """The values that it may turn out to have: OPEN stands for any, None for its absence."""


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A use of a tool, as Cedar is asked about it."""

    user: str
    action: str
    groups: frozenset[str]
    """The action with all groups of actions that it is in."""
    account: str
    entities: str = field(repr=False)
    """JSON of all entities; uses that are decided together share it."""
    context: Mapping[str, Any] = field(repr=False)
    """The facts that are known."""
    unknown: Mapping[Path, Unknown] = field(default_factory=dict)
    problem: str = ""
    """Why the facts cannot be told to Cedar; such a use is refused."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a use."""

    level: PolicyLevel
    """Of an undecided use: the agreement that it may need."""
    rule: str = ""
    """The id of the policy that decided; empty where none permits it."""
    message: str = ""
    depends_on: tuple[str, ...] = ()
    """What it depends on, where it is not decided yet."""
    problem: str = ""
    """Why it could not be evaluated, and is therefore refused."""

    @property
    def text(self) -> str:
        """The decision for people, e.g. `undecided: depends on ${find.owner}`."""
        if self.depends_on:
            return f"undecided: depends on {', '.join(self.depends_on)}"
        return f"{self.level}: {self.rule}" if self.rule else self.level


@dataclass(slots=True)
class _Findings:
    """The policies that hold for one use, and those of which that is not known."""

    dependent: frozenset[str]
    """Those that look at something which is not known."""
    holding: set[str] = field(default_factory=set)
    open: dict[str, set[str]] = field(default_factory=dict)
    """For each of these what it depends on."""
    errors: list[str] = field(default_factory=list)


def decide(rules: RuleSet, questions: Sequence[PolicyRequest]) -> list[Verdict]:
    """Return the verdicts about some uses, in their order; those that differ only in their texts are decided once."""
    keys = [_key(question) for question in questions]
    different = dict(zip(keys, questions, strict=True))
    try:
        decided = _decide(rules, list(different.values()))
    except ValueError as error:  # Cedar's, of what it does not take
        decided = [Verdict("refuse", problem=str(error))] * len(different)
    verdicts = dict(zip(different, decided, strict=True))
    return [_named(verdicts[key], question) for key, question in zip(keys, questions, strict=True)]


def _key(question: PolicyRequest) -> tuple[Any, ...]:
    unknown = tuple(sorted(((path, one.choices) for path, one in question.unknown.items()), key=lambda pair: pair[0]))
    context = json.dumps(question.context, sort_keys=True)
    return question.user, question.action, question.account, question.entities, context, unknown, question.problem


def _named(verdict: Verdict, question: PolicyRequest) -> Verdict:
    """Return a verdict with the texts of what it depends on, in place of the facts' paths."""
    if not verdict.depends_on:
        return verdict
    texts = {_name(path): one.text for path, one in question.unknown.items()}
    return replace(verdict, depends_on=tuple(sorted({texts[name] for name in verdict.depends_on})))


def _name(path: Path) -> str:
    return ".".join(path)


def _decide(rules: RuleSet, questions: Sequence[PolicyRequest]) -> list[Verdict]:
    deadline, comparisons = time.monotonic() + MAX_DECISION_SECONDS, 0
    findings = [_Findings(_dependent(rules, question)) for question in questions]
    alike: dict[tuple[frozenset[str], str], list[tuple[PolicyRequest, _Findings]]] = defaultdict(list)
    for question, found in zip(questions, findings, strict=True):
        # Cedar cannot be interrupted, so its work is bounded before it begins.
        comparisons += _comparisons(rules, question)
        if comparisons > MAX_COMPARISONS:
            found.errors.append(TOO_SLOW)
        else:
            alike[rules.about(question.groups) - found.dependent, question.entities].append((question, found))
    for (known, entities), asked in alike.items():
        _evaluate(rules, known, entities, asked)
    for question, found in zip(questions, findings, strict=True):
        if found.dependent and not found.errors:
            if time.monotonic() >= deadline:
                found.errors.append(TOO_SLOW)
            else:
                _evaluate_open(rules, question, found)
    return [_verdict(rules, question, found) for question, found in zip(questions, findings, strict=True)]


def _comparisons(rules: RuleSet, question: PolicyRequest) -> int:
    """Return how many characters of texts the patterns may be compared with, at most."""
    characters = sum(rules.rules[name].pattern_characters for name in rules.about(question.groups))
    worlds = min(MAX_WORLDS, prod(len(one.choices) for one in question.unknown.values()))
    return characters and characters * worlds * len(json.dumps(question.context))


def _dependent(rules: RuleSet, question: PolicyRequest) -> frozenset[str]:
    """Return the policies that look at something which is not known."""
    looking = (rules.lookers(*path) for path in question.unknown)
    return frozenset().union(*looking) & rules.about(question.groups)


def _evaluate(
    rules: RuleSet, chosen: Collection[str], entities: str, asked: Sequence[tuple[PolicyRequest, _Findings]]
) -> None:
    """Find the policies that hold, of those whose facts are all known.

    Cedar names the permits that hold only where nothing forbids, so they are asked about by themselves.
    """
    from cedarpy import Entities, is_authorized_batch

    requests = [_request(question) for question, _ in asked]
    known = Entities.from_json_str(entities)
    permits = rules.permits.intersection(chosen)
    for names in (permits, frozenset(chosen) - permits):
        if names == permits and rules.permits_all:
            for _, found in asked:
                found.holding |= permits
        elif names:
            answers = is_authorized_batch(requests, rules.parsed(names), known)
            for (_, found), answer in zip(asked, answers, strict=True):
                found.holding |= set(answer.diagnostics.reasons)
                found.errors += answer.diagnostics.errors


def _evaluate_open(rules: RuleSet, question: PolicyRequest, found: _Findings) -> None:
    """Find what holds whatever the unknown facts turn out to be, and what depends on them."""
    from cedarpy import Entities, is_authorized_partial

    names = found.dependent
    unknown = {path: one for path, one in question.unknown.items() if not names.isdisjoint(rules.lookers(*path))}
    reasons = {name: {_name(path) for path in unknown if name in rules.lookers(*path)} for name in names}
    if prod(len(one.choices) for one in unknown.values()) > MAX_WORLDS:
        found.open |= reasons
        return
    known, policies = Entities.from_json_str(question.entities), rules.parsed(names)
    worlds: list[dict[str, set[str]]] = []
    for values in product(*(one.choices for one in unknown.values())):
        answer = is_authorized_partial(_request(question, dict(zip(unknown, values, strict=True))), policies, known)
        residuals = {name: json.dumps(answer.residuals[name]) for name in answer.diagnostics.nontrivial_residuals}
        held: dict[str, set[str]] = {name: set() for name in answer.diagnostics.reasons}
        open_ones = {name: set(map(json.loads, _UNKNOWN.findall(text))) for name, text in residuals.items()}
        # What cannot be evaluated with one value may well be with another; a request that is wrong is so with all.
        failing: dict[str, set[str]] = {}
        for error in answer.diagnostics.errors:
            if named := _ERROR_RULE.search(error):
                failing[named[1]] = set(reasons[named[1]])
            else:
                found.errors.append(error)
        worlds.append(held | open_ones | failing)
    for name in names:
        outcomes = [world.get(name) for world in worlds]
        if all(outcome == set() for outcome in outcomes):
            found.holding.add(name)
        elif any(outcome is not None for outcome in outcomes):
            found.open[name] = set().union(*(outcome or () for outcome in outcomes)) or reasons[name]


def _request(question: PolicyRequest, values: Mapping[Path, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Return a request as Cedar takes it, with one choice of the values that are not known."""
    context: dict[str, Any] = {
        name: dict(one) if isinstance(one, dict) else one for name, one in question.context.items()
    }
    for path, value in values.items():
        if value is not None:
            *outer, last = path
            at = context[outer[0]] if outer else context
            at[last] = {"__extn": {"fn": "unknown", "arg": _name(path)}} if value is OPEN else value
    names = {"principal": ("User", question.user), "action": ("Action", question.action)}
    names["resource"] = ("Account", question.account)
    return {"context": context} | {key: f"{kind}::{_quoted(name)}" for key, (kind, name) in names.items()}


def _quoted(name: str) -> str:
    """Return a name as a text of Cedar."""
    text = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _verdict(rules: RuleSet, question: PolicyRequest, found: _Findings) -> Verdict:
    if problem := question.problem or next(iter(found.errors), ""):
        named = _ERROR_RULE.search(problem)
        return Verdict("refuse", named[1] if named else "", problem=problem)
    holding = [rules.rules[name] for name in rules.rules if name in found.holding]
    level = strictest(rule.level for rule in holding)
    deciding = next((rule for rule in holding if rule.level == level), None)
    if level == "refuse" and deciding:
        return Verdict("refuse", deciding.id, deciding.message)
    # One that cannot be evaluated in the end refuses the use, whatever it would have said.
    stricter = {name for name in found.open if _is_stricter(rules.rules[name], level)}
    if not any(rule.level == "permit" for rule in holding):
        permits = {name for name in found.open if rules.rules[name].level == "permit"}
        if not permits:
            return Verdict("refuse")
        stricter |= permits
    if stricter:
        depends = tuple(sorted(set().union(*(found.open[name] for name in stricter))))
        agreement = strictest((level, *(rules.rules[name].level for name in stricter if _is_soft(rules, name))))
        asked = next((name for name in rules.rules if name in stricter and rules.rules[name].level == agreement), "")
        rule = rules.rules[asked] if asked else deciding
        return Verdict(agreement, rule.id if rule else "", rule.message if rule else "", depends)
    return Verdict(level, deciding.id if deciding else "", deciding.message if deciding else "")


def _is_stricter(rule: PolicyRule, level: PolicyLevel) -> bool:
    return rule.may_fail or POLICY_LEVELS.index(rule.level) > POLICY_LEVELS.index(level)


def _is_soft(rules: RuleSet, name: str) -> bool:
    return rules.rules[name].level in {"ask", "approve"}
