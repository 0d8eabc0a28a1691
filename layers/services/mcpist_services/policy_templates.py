"""Policies to start from."""

from dataclasses import dataclass
from functools import cache

from mcpist.errors import Locale
from mcpist.toml_table import toml_beside


@dataclass(frozen=True, slots=True)
class PolicyTemplate:
    """A policy to start from."""

    name: str
    title: str
    """What it does, in one language."""
    text: str


@cache
def templates(locale: Locale) -> tuple[PolicyTemplate, ...]:
    """Return the policies to start from, with titles in one language."""
    found = toml_beside(__file__, "policy_templates.toml")["templates"]
    return tuple(PolicyTemplate(one["name"], one["title"][locale], one["text"].strip()) for one in found)
