"""Pruning: JSON without what carries no information, and without the fields that were declared as noise."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from itertools import groupby
from typing import Any

_CONTAINERS = (dict, list)  # as a union it would be made anew for each value
_WILDCARD = re.compile(r"[*?\[\]]")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A run of patterns that all name noise, or all name fields that are needed."""

    is_noise: bool
    ends: tuple[str, ...]
    """The path ends of the patterns that are no more than that."""
    matches: Callable[[str], object]
    """Matches the paths of the other patterns, which are tried only for a path with an end in `tails`."""
    tails: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Noise:
    """The fields that a model does not need, e.g. `node_id`, `*_url`, `user.url`; after `!`, those that it does need.

    A pattern is the end of a field's path, in which lists do not count. Of the patterns that match a path the last one
    counts.
    """

    patterns: Sequence[str] = ()
    _rules: Sequence[_Rule] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rules", tuple(_rules(self.patterns)))

    def __contains__(self, path: str) -> bool:
        for rule in self._rules:
            if path.endswith(rule.ends) or (path.endswith(rule.tails) and rule.matches(path)):
                return rule.is_noise
        return False


def _rules(patterns: Sequence[str]) -> Iterator[_Rule]:
    """Yield a rule for each run of patterns that all are after `!`, or all are not; the last one first."""
    for is_needed, some in groupby(reversed(patterns), lambda pattern: pattern.startswith("!")):
        plain = [pattern.removeprefix("!") for pattern in some]
        ends = {pattern: end for pattern in plain if (end := _end(pattern)) is not None}
        others = [pattern for pattern in plain if pattern not in ends]
        expression = re.compile("|".join(translate(f"*.{pattern}") for pattern in others))
        tails = tuple(_WILDCARD.split(pattern)[-1] for pattern in others)
        yield _Rule(not is_needed, tuple(ends.values()), expression.match, tails)


def _end(pattern: str) -> str | None:
    """Return how the paths that a pattern matches end; None where that does not tell them."""
    rest = pattern.removeprefix("*")
    if _WILDCARD.search(rest) or (rest != pattern and rest.startswith(".")):
        return None
    return f".{pattern}" if rest == pattern else rest


SILENCE = Noise()


def prune(value: Any, noise: Noise = SILENCE, path: str = "") -> Any:
    """Return JSON without null and empty values at any depth, and without noise; lists keep their length.

    An object that is nothing but noise keeps all of its fields: they may be all that leads to the next call.
    """
    if isinstance(value, dict):
        if not noise.patterns:
            return _pruned_object(value, noise, path)
        kept = {name: inner for name, inner in value.items() if f"{path}.{name}" not in noise}
        return _pruned_object(kept, noise, path) or _pruned_object(
            {name: inner for name, inner in value.items() if name not in kept}, noise, path
        )
    if isinstance(value, list):
        values = [prune(element, noise, path) if isinstance(element, _CONTAINERS) else element for element in value]
        return [] if all(map(is_empty, values)) else values
    return value


def is_empty(value: Any) -> bool:
    """Whether a value carries no information; 0 and False do."""
    return value is None or value in ("", [], {})


def _pruned_object(fields: dict[str, Any], noise: Noise, path: str) -> dict[str, Any]:
    pruned = {}
    for name, value in fields.items():
        if isinstance(value, _CONTAINERS):
            if inner := prune(value, noise, f"{path}.{name}" if noise.patterns else ""):
                pruned[name] = inner
        elif value is not None and value != "":
            pruned[name] = value
    return pruned
