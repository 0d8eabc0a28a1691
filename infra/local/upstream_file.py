"""The owner's file of upstream servers on one machine: with variables filled in, and read again when it changes."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.additions import report_missing_commands
from infra.local.names import STACK
from mcpist.aws.clients import client
from mcpist.errors import InvalidConfiguration
from mcpist_services.upstream.configuration import (
    VARIABLE,
    UpstreamConfiguration,
    invalid,
    location,
    read_content,
    validated,
)

PARAMETERS = f"/mcpist/{STACK}/upstreams/variables"
FIELDS_WITH_VARIABLES = ("command", "args", "url", "env", "headers")


def load_here(path: Path, environment: Mapping[str, str]) -> tuple[UpstreamConfiguration, Any, Mapping[str, str]]:
    """Load a file of one machine, whose values may have variables: `${NAME}`, or `${NAME:-default}`.

    Return it, its content with the variables filled in, and the values that the content only refers to: what a variable
    brings into `env` or `headers` may be a secret, and becomes a parameter of the stack.
    """
    content, secrets = read_content(path), dict[str, str]()
    servers = content.get("mcpServers") if isinstance(content, dict) else None
    for name, server in servers.items() if isinstance(servers, dict) else ():
        for field in FIELDS_WITH_VARIABLES if isinstance(server, dict) else ():
            filled = _Filled(path, environment, location("mcpServers", name, field))
            match server.get(field):
                case str() as text:
                    server[field] = filled.text(text)
                case list() as texts:
                    server[field] = [filled.text(text, f"[{index}]") for index, text in enumerate(texts)]
                case dict() as values:
                    found = {key: filled.text(value, f".{key}") for key, value in values.items()}
                    references = {
                        key: f"ssm:{PARAMETERS}/{name}/{key}" for key in found if found[key] not in {values[key], ""}
                    }
                    secrets |= {reference: found[key] for key, reference in references.items()}
                    server[field] = found | references
    return validated(path, content), content, secrets


@dataclass(frozen=True, slots=True)
class _Filled:
    """The values of one field, with variables filled in."""

    path: Path
    environment: Mapping[str, str]
    place: str

    def text(self, value: Any, within: str = "") -> Any:
        """Return a text with its variables filled in; InvalidConfiguration for one that is missing."""
        if not isinstance(value, str):
            return value
        for name, default in VARIABLE.findall(value):
            if not default and name not in self.environment:
                raise invalid(self.path, f"{self.place}{within}", f"there is no variable {name} here")
        return VARIABLE.sub(lambda found: self.environment.get(found[1], (found[2] or "")[2:]), value)


class UpstreamFile:
    """A file of upstream servers; the functions read a copy of it, at `copy`, that is never in part or wrong.

    What its variables hold stands in no file: it is stored as secrets are.
    """

    def __init__(self, source: Path, folder: Path, report: Callable[[str], None]) -> None:
        self.source = source
        self.copy = folder / "upstreams.json"
        self._report = report
        self.categories: tuple[str, ...] = ()
        self._secrets: Mapping[str, str] = {}
        self._seen: bytes | None = None

    def read(self) -> None:
        """Copy the file as it is now; InvalidConfiguration names the place of what is wrong."""
        if not self.source.is_file():
            return
        self._seen = self.source.read_bytes()
        configured, content, self._secrets = load_here(self.source, os.environ)
        report_missing_commands(configured, self._report)
        part = self.copy.with_suffix(".part")
        part.write_text(json.dumps(content), "utf-8")
        part.replace(self.copy)
        self.categories = tuple(configured.all_categories)

    def store_secrets(self) -> None:
        """Store what the variables hold; needs the embedded AWS."""
        for reference, value in self._secrets.items():
            name = reference.removeprefix("ssm:")
            client("ssm").put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)

    def read_change(self) -> bool:
        """Copy the file if it has changed, and return whether it was; a wrong one is reported, and changes nothing."""
        with suppress(OSError):  # an editor may put a new file into its place at this moment
            if self.source.read_bytes() == self._seen:
                return False
            try:
                self.read()
            except InvalidConfiguration as error:
                self._report(f"{self.source} is not used as it is now: {error}")
            else:
                return True
        return False
