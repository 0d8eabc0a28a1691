"""The command line as a command's document repeats it: whole, but without secrets."""

import json
import shlex
from collections.abc import Sequence
from typing import Any

from mcpist_services.upstream.secret_detection import is_secret, secret_arguments, secret_in_url

HIDDEN = "***"


def printable(arguments: Sequence[str]) -> str:
    """Return `mcpist` with its arguments as one line; `***` stands for each secret."""
    secret = set(secret_arguments(arguments))
    shown = [_without_value(word) if place in secret else _printable(word) for place, word in enumerate(arguments)]
    return shlex.join(["mcpist", *shown])


def _without_value(word: str) -> str:
    """Return an argument that is a secret: of `--token=X` the name stays."""
    name, equals, _ = word.partition("=")
    return f"{name}={HIDDEN}" if equals and name.startswith("-") else HIDDEN


def _printable(word: str) -> str:
    """Return an argument without the secrets inside of it: a URL's, or those of fields of a JSON text."""
    if "://" in word and secret_in_url(word):
        return HIDDEN
    if word[:1] not in {"{", "["}:
        return word
    try:
        value = json.loads(word)
    except ValueError:
        return HIDDEN if is_secret("", word) else word
    hidden = _hide(value)
    return word if hidden == value else json.dumps(hidden, ensure_ascii=False)


def _hide(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            return {key: _hide(inner, key) for key, inner in value.items()}
        case list():
            return [_hide(inner, name) for inner in value]
        case str() | int() if is_secret(name, str(value)):
            return HIDDEN
    return value
