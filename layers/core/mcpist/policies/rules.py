"""Rules: an organization's policies as Cedar reads them, each with the facts that it looks at."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from mcpist.caller import POLICY_LEVELS, PolicyLevel
from mcpist.errors import InvalidPolicies, InvalidPolicy

if TYPE_CHECKING:
    from cedarpy import PolicySet

type Path = tuple[str, ...]
"""The names below `context`, such as `("args", "owner")`."""

MAX_POLICY_CHARACTERS = 30_000  # each request of the organization reads them
MAX_RULES = 100
MAX_RULE_OPERATORS = 300
"""The operators, brackets and dots of one policy: Cedar's parser and we ourselves recurse for each."""
MAX_CACHED_SETS = 16
ANNOTATIONS = ("id", "message", "ask", "approve")
_RULE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_ARITHMETIC = re.compile(r'"(?:[-+*]|neg)": \{')
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*+"?|//[^\n\r]*|(?P<end>;)'
    r"|(?P<operator>&&|\|\||[<>=]=?|!=?|[.+*(\[{-]|\b(?:has|like|in|is|if)\b)",
    re.DOTALL,
)
_EVERYTHING = {"principal": {"op": "All"}, "action": {"op": "All"}, "resource": {"op": "All"}, "conditions": []}


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One policy."""

    id: str
    level: PolicyLevel
    """The decision where it holds."""
    message: str
    """For the person whose use it stops: why, and who can change it."""
    source: Mapping[str, Any] = field(repr=False)
    """Cedar's own JSON of it."""
    paths: frozenset[Path]
    """The facts that it looks at."""
    pattern_characters: int = 0
    """Of its patterns, behind their first wildcards: each may be compared with each character of a text."""

    @property
    def actions(self) -> frozenset[str]:
        """The actions and groups of actions that it is about; empty for all."""
        action = self.source["action"]
        return frozenset(one["id"] for one in (*action.get("entities", ()), *filter(None, [action.get("entity")])))

    @property
    def may_fail(self) -> bool:
        """Whether its evaluation may fail: sums and products can be too large."""
        return _ARITHMETIC.search(json.dumps(self.source["conditions"])) is not None

    def looks_at(self, path: Path) -> bool:
        """Whether it looks at a fact, at a part of it, or at something of which the fact is a part."""
        return any(one[: len(path)] == path[: len(one)] for one in self.paths)


@dataclass(frozen=True, eq=False)
class RuleSet:
    """The policies of an organization, parsed."""

    rules: Mapping[str, PolicyRule]
    """By their ids, in the order of the text."""
    _about: dict[frozenset[str], frozenset[str]] = field(default_factory=dict, repr=False)
    _lookers: dict[Path, frozenset[str]] = field(default_factory=dict, repr=False)

    @cached_property
    def permits(self) -> frozenset[str]:
        """The policies that permit."""
        return frozenset(name for name, rule in self.rules.items() if rule.level == "permit")

    @cached_property
    def permits_all(self) -> bool:
        """Whether one policy permits everything, so that only those that forbid must be evaluated."""
        permits = [self.rules[name] for name in self.permits]
        is_certain = not any(rule.may_fail for rule in permits)
        return is_certain and any(_EVERYTHING.items() <= rule.source.items() for rule in permits)

    @cached_property
    def arguments(self) -> frozenset[str] | None:
        """The arguments that policies look at; None for all."""
        paths = [path for rule in self.rules.values() for path in rule.paths if path[:1] in {(), ("args",)}]
        return None if any(len(path) < 2 for path in paths) else frozenset(path[1] for path in paths)

    @cached_property
    def names_accounts(self) -> bool:
        """Whether a policy names an account, so that the one which acts must be known."""
        return any('"Account"' in json.dumps(rule.source) for rule in self.rules.values())

    def about(self, actions: frozenset[str]) -> frozenset[str]:
        """Return the policies that may be about an action, which is named with its groups."""
        if actions not in self._about:
            found = (name for name, rule in self.rules.items() if not rule.actions or rule.actions & actions)
            self._about[actions] = frozenset(found)
        return self._about[actions]

    def lookers(self, *path: str) -> frozenset[str]:
        """Return the policies that look at a fact, at a part of it, or at something of which it is a part."""
        if path not in self._lookers:
            found = (name for name, rule in self.rules.items() if rule.looks_at(path))
            self._lookers[path] = frozenset(found)
        return self._lookers[path]

    def parsed(self, rules: Collection[str]) -> "PolicySet":
        """Return some of the policies for Cedar."""
        return _policy_set(self, frozenset(rules))


@lru_cache(MAX_CACHED_SETS)
def rules_of(text: str) -> RuleSet:
    """Return the policies of a text; InvalidPolicy if it cannot be parsed."""
    import cedarpy  # only organizations that have policies load it

    if len(text) > MAX_POLICY_CHARACTERS:
        raise InvalidPolicies(field="text", problem=f"the policies have at most {MAX_POLICY_CHARACTERS:,} characters")
    _check_operators(text)
    try:
        parsed = json.loads(cedarpy.policies_to_json_str(text))
    except ValueError as error:
        raise InvalidPolicies(field="text", problem=str(error)) from None
    if parsed["templates"]:
        raise InvalidPolicies(field="text", problem="?principal and ?resource stand for nothing here: name them")
    sources = parsed["staticPolicies"]
    if not 0 < len(sources) <= MAX_RULES:
        raise InvalidPolicies(field="text", problem=f"there are 1 to {MAX_RULES} policies")
    # Cedar numbers them as they stand in the text.
    ordered = sorted(sources, key=lambda name: int(name.removeprefix("policy")))
    rules: dict[str, PolicyRule] = {}
    for place, source in enumerate((sources[name] for name in ordered), 1):
        rule = _rule(source, place)
        if rule.id in rules:
            raise InvalidPolicy(field="text", problem=f'two policies have the id "{rule.id}"', policy=rule.id)
        rules[rule.id] = rule
    return RuleSet(rules)


def _check_operators(text: str) -> None:
    """Raise InvalidPolicies for a policy that is nested too deeply to be parsed: that would end the process."""
    operators, place = 0, 1
    for token in _TOKEN.finditer(text):
        operators = 0 if token["end"] else operators + bool(token["operator"])
        place += bool(token["end"])
        if operators > MAX_RULE_OPERATORS:
            problem = f"policy {place} has more than {MAX_RULE_OPERATORS} operators, brackets and dots: make it several"
            raise InvalidPolicies(field="text", problem=problem)


@lru_cache(MAX_CACHED_SETS * 16)
def _policy_set(rules: RuleSet, chosen: frozenset[str]) -> "PolicySet":
    import cedarpy

    static = {rule: rules.rules[rule].source for rule in sorted(chosen)}
    document = {"templates": {}, "staticPolicies": static, "templateLinks": []}
    return cedarpy.PolicySet.from_json_str(json.dumps(document))


def _rule(source: Mapping[str, Any], place: int) -> PolicyRule:
    """Return a policy with our annotations; InvalidPolicy for one that means nothing here."""
    annotations = source.get("annotations", {})
    rule = annotations.get("id") or ""
    if not _RULE_ID.fullmatch(rule):
        problem = f'policy {place} needs an id of letters, digits, -, _ and . such as @id("no-mail-outside")'
        raise InvalidPolicies(field="text", problem=problem)
    for name in annotations:
        if name not in ANNOTATIONS:
            problem = f"there is no annotation @{name} (annotations: {', '.join(ANNOTATIONS)})"
            raise InvalidPolicy(field="text", problem=problem, policy=rule)
    softened = [name for name in ("ask", "approve") if name in annotations]
    if len(softened) > 1 or (softened and source["effect"] == "permit"):
        problem = "@ask or @approve stands before a forbid: it is forbidden unless a person agrees"
        raise InvalidPolicy(field="text", problem=problem, policy=rule)
    level: PolicyLevel = "permit" if source["effect"] == "permit" else "refuse"
    if softened:
        level = "ask" if softened == ["ask"] else "approve"
    paths = frozenset(_paths(source["conditions"]))
    return PolicyRule(rule, level, annotations.get("message") or "", source, paths, _pattern_characters(source))


def _pattern_characters(node: Any) -> int:
    """Count the characters of patterns behind their first wildcards, in Cedar's JSON."""
    inner = list(node.values()) if isinstance(node, Mapping) else node if isinstance(node, list) else []
    if "Wildcard" in inner:
        inner = inner[inner.index("Wildcard") :]
        return len(inner) - inner.count("Wildcard")
    return sum(map(_pattern_characters, inner))


def _paths(node: Any) -> Iterator[Path]:
    """Yield the parts of the context that an expression looks at."""
    if isinstance(node, list):
        for one in node:
            yield from _paths(one)
    elif isinstance(node, dict):
        if (path := _path(node)) is not None:
            yield path
        else:
            for one in node.values():
                yield from _paths(one)


def _path(node: Mapping[str, Any]) -> Path | None:
    """Return the path of an expression such as `context.args.owner` or `context.args has owner`; None for others."""
    if node.get("Var") == "context":
        return ()
    access = node.get(".") or node.get("has")
    if not isinstance(access, dict) or (left := _path(access["left"])) is None:
        return None
    return (*left, access["attr"])


def strictest(levels: Iterable[PolicyLevel]) -> PolicyLevel:
    """Return the strictest of some decisions."""
    return max(levels, key=POLICY_LEVELS.index, default="permit")
