"""The owner's settings in samconfig.toml and on the command line."""

import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class ConfigurationError(Exception):
    """A setting cannot be read or used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The deploy settings of samconfig.toml."""

    stack_name: str = "mcpist"
    region: str | None = None
    profile: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The template's parameters that the file sets."""


def read_configuration(path: Path) -> Configuration:
    """Read the file; one that does not exist sets nothing."""
    if not path.exists():
        return Configuration()
    try:
        environment = tomllib.loads(path.read_text(encoding="utf-8")).get("default", {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None
    found = environment.get("global", {}).get("parameters", {}) | environment.get("deploy", {}).get("parameters", {})
    overrides = _overrides(path, found.get("parameter_overrides", []))
    return Configuration(found.get("stack_name", "mcpist"), found.get("region"), found.get("profile"), overrides)


def assignments(words: Iterable[str]) -> dict[str, str]:
    """Return the parameters that words such as `RequestRate=50` set."""
    split = {word: word.partition("=") for word in words}
    if wrong := [word for word, (name, equals, _) in split.items() if not (name.isalnum() and equals)]:
        raise ConfigurationError(f"{wrong[0]!r} is not NAME=VALUE")
    return {name: value for name, _, value in split.values()}


def _overrides(path: Path, written: Any) -> dict[str, str]:
    """Return `parameter_overrides`: a text or a list of `NAME=VALUE`, or a table."""
    match written:
        case dict():
            return {name: _text(value) for name, value in written.items()}
        case str():
            return assignments(shlex.split(written))
        case list() if all(isinstance(one, str) for one in written):
            return assignments(word for one in written for word in shlex.split(one))
    raise ConfigurationError(f"{path}: parameter_overrides must be a table, or NAME=VALUE in a text or a list")


def _text(value: Any) -> str:
    """Return a value of a TOML table as CloudFormation writes it."""
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
