"""Validation against a JSON Schema that somebody else wrote, which cannot take longer than its budget.

A hostile schema can double its work with every `$ref`, compare long lists with themselves, and hang in a pattern. So
every keyword that is evaluated counts, patterns run in linear time, and items are compared by their JSON.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any

from attrs import evolve
from jsonschema.exceptions import ValidationError, best_match, relevance
from jsonschema.validators import Draft202012Validator, extend, validator_for
from jsonschema_specifications import REGISTRY

from mcpist.errors import InvalidRequest
from mcpist.patterns import Pattern, compile_pattern

MAX_EVALUATIONS = 50_000
"""The keywords that one validation may evaluate: about half a second."""

type Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]

_evaluations: ContextVar[list[int]] = ContextVar("evaluations")


class OverBudget(Exception):
    """A validation took more evaluations than its budget."""


def all_errors(schema: Mapping[str, Any], value: Any) -> list[ValidationError]:
    """Return the errors of a value, the one that says the most first; OverBudget where that takes too long.

    References outside the schema are not followed, so no schema makes us fetch an address.
    """
    return _errors(bounded(validator_for(schema, default=Draft202012Validator))(schema, registry=REGISTRY), value)


def is_schema(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is valid by its own dialect; one that is too deep, or takes too long to check, is not."""
    try:
        return not schema_errors(schema)
    except (OverBudget, RecursionError):
        return False


def schema_errors(schema: Mapping[str, Any], max_evaluations: int = MAX_EVALUATIONS) -> list[ValidationError]:
    """Return where a schema breaks its own dialect; OverBudget where the check takes too long."""
    kind = validator_for(schema, default=Draft202012Validator)
    return _errors(bounded(kind)(kind.META_SCHEMA, registry=REGISTRY), schema, max_evaluations)


@cache
def bounded(kind: Any) -> Any:
    """Return a dialect's validator whose keywords count, without those whose cost cannot be counted."""
    keywords = {**kind.VALIDATORS, **_OWN_KEYWORDS}
    known = {name: _counted(keywords[name]) for name in kind.VALIDATORS if name not in _UNCOUNTABLE}
    # An extension cannot remove a keyword, but replace it with one that accepts everything.
    made = extend(kind, {**dict.fromkeys(_UNCOUNTABLE, _accept), **known})
    # Its own would leave the budget at each part that names a dialect, as the parts of JSON Schema's metaschema do.
    made.evolve = evolve
    return made


def _errors(validator: Any, value: Any, max_evaluations: int = MAX_EVALUATIONS) -> list[ValidationError]:
    token = _evaluations.set([max_evaluations])
    try:
        found = sorted(validator.iter_errors(value), key=relevance, reverse=True)
        return [best_match(iter([error])) or error for error in found]
    finally:
        _evaluations.reset(token)


def _counted(keyword: Keyword) -> Keyword:
    def check(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError] | None:
        remaining = _evaluations.get()
        remaining[0] -= 1
        if remaining[0] < 0:
            raise OverBudget
        return keyword(validator, wanted, value, schema)

    return check


def _accept(*_: Any) -> None:
    """Accept every value."""


def _pattern(validator: Any, wanted: str, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and (pattern := _compiled(wanted)) and not pattern.search(value):
        yield ValidationError(f"{value!r} does not match {wanted!r}")


def _pattern_properties(validator: Any, wanted: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        for pattern_text, schema in wanted.items():
            pattern = _compiled(pattern_text)
            for name in filter(pattern.search, value) if pattern else ():
                yield from validator.descend(value[name], schema, path=name, schema_path=pattern_text)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    patterns = [_compiled(text) for text in schema.get("patternProperties", {})]
    if None in patterns:  # a name may match a pattern that only the service understands
        return
    named = schema.get("properties", {})
    extras = [name for name in value if name not in named and not any(p.search(name) for p in patterns if p)]
    if validator.is_type(wanted, "object"):
        for name in extras:
            yield from validator.descend(value[name], wanted, path=name)
    elif wanted is False and extras:
        yield ValidationError(f"there are no such fields: {', '.join(extras)}")


def _unique_items(validator: Any, wanted: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    if not wanted or not validator.is_type(value, "array"):
        return
    if len({json.dumps(item, sort_keys=True) for item in value}) < len(value):
        yield ValidationError("its items are not unique")


def _compiled(text: str) -> Pattern | None:
    """Return a pattern; None where our engine does not know its syntax, and only the service validates."""
    try:
        return compile_pattern(text)
    except InvalidRequest:
        return None


_OWN_KEYWORDS: Mapping[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
# They follow references on their own.
_UNCOUNTABLE = frozenset({"unevaluatedItems", "unevaluatedProperties"})
