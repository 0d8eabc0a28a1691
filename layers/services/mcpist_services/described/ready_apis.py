"""APIs that an import knows by name: where the vendor's description is, and what of it people use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcpist.toml_table import toml_beside
from mcpist_services.described.account_rule import Security
from mcpist_services.described.overlay import Overlay


@dataclass(frozen=True, slots=True)
class ReadyApi:
    """An entry of `ready_apis.toml`."""

    source: str
    """The address of its description."""
    operations: tuple[str, ...]
    """Globs of the operations to import."""
    shows: Mapping[str, Sequence[str]]
    """By operation: the columns of its tool, where the import's own are not what a person would choose."""

    security: Mapping[str, Any] = field(default_factory=dict)
    """How accounts are connected, where the description does not say it."""
    is_large: bool = False
    """Whether its description takes too long to read for a function."""

    def corrected(self, overlay: Overlay) -> Overlay:
        """Return an overlay with these columns and accounts, as if a person had corrected them."""
        changed = {
            name: rule.model_copy(update={"shows": tuple(self.shows[rule.operation])})
            for name, rule in overlay.tools.items()
            if rule.operation in self.shows
        }
        security = Security(**self.security) if self.security else overlay.security
        return overlay.model_copy(update={"tools": overlay.tools | changed, "security": security})


def _entry(source: str, operations: Sequence[str], **more: Any) -> ReadyApi:
    return ReadyApi(source, tuple(operations), more.pop("shows", {}), **more)


READY_APIS = {name: _entry(**entry) for name, entry in toml_beside(__file__, "ready_apis.toml").items()}
