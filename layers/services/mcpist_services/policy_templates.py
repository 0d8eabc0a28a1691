"""Policies to start from."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mcpist.errors import Locale


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
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["templates"]
    return tuple(PolicyTemplate(one["name"], one["title"][locale], one["text"].strip()) for one in found)
