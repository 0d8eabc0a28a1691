"""APIs that an import knows by name: where the vendor's description is, and what of it people use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcpist.toml_table import toml_beside
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

    def with_columns(self, overlay: Overlay) -> Overlay:
        """Return an overlay whose tools show these columns, as if a person had corrected them."""
        changed = {
            name: rule.model_copy(update={"shows": tuple(self.shows[rule.operation])})
            for name, rule in overlay.tools.items()
            if rule.operation in self.shows
        }
        return overlay.model_copy(update={"tools": overlay.tools | changed})


READY_APIS = {
    name: ReadyApi(entry["source"], tuple(entry["operations"]), entry.get("shows", {}))
    for name, entry in toml_beside(__file__, "ready_apis.toml").items()
}
