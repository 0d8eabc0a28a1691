"""APIs that an import knows by name: where the vendor's description is, and what of it people use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from mcpist.toml_table import toml_beside
from mcpist_services.described.account_rule import Security
from mcpist_services.described.overlay import Overlay, ToolRule


@dataclass(frozen=True, slots=True)
class ReadyApi:
    """An entry of `ready_apis.toml`."""

    sources: tuple[str, ...]
    """The addresses of its description, of a vendor that splits it those of all its files."""
    operations: tuple[str, ...]
    """Globs of the operations to import."""
    shows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By operation: the columns of its tool, where the import's own are not what a person would choose."""
    names: Mapping[str, str] = field(default_factory=dict)
    """By operation: the name of its tool, likewise."""
    optional: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By globs of operations: arguments that the description requires and the service does not."""
    server: str = ""
    """The address before the paths, where the description names none and all accounts have one."""
    security: Mapping[str, Any] = field(default_factory=dict)
    """How accounts are connected, where the description does not say it; `{host}` in an address is the API's."""
    is_large: bool = False
    """Whether its description takes too long to read for a function."""

    def corrected(self, overlay: Overlay) -> Overlay:
        """Return an overlay with these columns, arguments and accounts, as if a person had corrected them."""
        tools = {name: self._corrected_tool(rule) for name, rule in overlay.tools.items()}
        security = Security(**_placed(self.security, overlay.host)) if self.security else overlay.security
        return overlay.model_copy(update={"tools": tools, "security": security})

    def _corrected_tool(self, rule: ToolRule) -> ToolRule:
        loose = {
            name: rule.parameters[name].model_copy(update={"required": False})
            for glob, names in self.optional.items()
            for name in names
            if name in rule.parameters and fnmatchcase(rule.operation, glob)
        }
        changed: dict[str, Any] = {"parameters": {**rule.parameters, **loose}} if loose else {}
        if rule.operation in self.shows:
            changed["shows"] = tuple(self.shows[rule.operation])
        return rule.model_copy(update=changed) if changed else rule


def _placed(stated: Mapping[str, Any], host: str) -> dict[str, Any]:
    found = dict(stated)
    for name, one in stated.items():
        if isinstance(one, Mapping):
            found[name] = _placed(one, host)
        elif isinstance(one, str):
            found[name] = one.replace("{host}", host)
    return found


def _entry(sources: Sequence[str], operations: Sequence[str], **more: Any) -> ReadyApi:
    return ReadyApi(tuple(sources), tuple(operations), **more)


READY_APIS = {name: _entry(**entry) for name, entry in toml_beside(__file__, "ready_apis.toml").items()}
