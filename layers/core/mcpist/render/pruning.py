"""Pruning: JSON without what carries no information, and without the fields that were declared as noise."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

MAX_KNOWN_PATHS = 10_000
_CONTAINERS = (dict, list)  # as a union it would be made anew for each value


@dataclass(frozen=True, slots=True)
class Noise:
    """The fields that a model does not need, e.g. `node_id`, `*_url`, `user.url`; after `!`, those that it does need.

    A pattern is the end of a field's path, in which lists do not count. Of the patterns that match a path the last one
    counts.
    """

    patterns: Sequence[str] = ()
    _known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def __contains__(self, path: str) -> bool:
        found = self._known.get(path)
        if found is None:
            if len(self._known) >= MAX_KNOWN_PATHS:
                self._known.clear()
            found = self._known[path] = self._find(path)
        return found

    def _find(self, path: str) -> bool:
        last = next((one for one in reversed(self.patterns) if _matches(one.removeprefix("!"), path)), "!")
        return not last.startswith("!")


SILENCE = Noise()


def prune(value: Any, noise: Noise = SILENCE, path: str = "") -> Any:
    """Return JSON without null and empty values at any depth, and without noise; lists keep their length.

    An object that is nothing but noise keeps all of its fields: they may be all that leads to the next call.
    """
    if isinstance(value, dict):
        kept = (
            {name: inner for name, inner in value.items() if f"{path}.{name}" not in noise} if noise.patterns else value
        )
        pruned = _pruned_object(kept, noise, path)
        return pruned or (_pruned_object(value, noise, path) if len(kept) < len(value) else pruned)
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


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern matches the end of a path, which begins with a dot."""
    return fnmatchcase(path, f"*.{pattern}")
