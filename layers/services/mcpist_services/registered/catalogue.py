"""The catalogue: APIs and MCP servers that an administrator adds to an organization by their name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcpist.errors import InvalidRequest
from mcpist.suggestions import nearest
from mcpist.toml_table import toml_beside
from mcpist_services.described.ready_apis import READY_APIS
from mcpist_services.registered.request import ModuleRequest

if TYPE_CHECKING:
    from mcpist_services.described.overlay import Overlay

READY_SERVERS = toml_beside(__file__, "ready_servers.toml")
"""By name: `url` and `description` of an MCP server that people connect by consent."""
READY = (*READY_APIS, *READY_SERVERS)


def ready_here() -> list[str]:
    """Return the entries that a function can add; the descriptions of others are read by the command line."""
    return [name for name in READY if name in READY_SERVERS or not READY_APIS[name].is_large]


def request_of(name: str, server: str = "") -> ModuleRequest:
    """Return the registration of an entry, whose description is read from its vendor now.

    `server` is the address of an API that each customer has at one of its own.
    """
    if name in READY_SERVERS:
        return ModuleRequest(name=name, headers={"Authorization": f"grant:{name}"}, **READY_SERVERS[name])
    if name not in READY_APIS:
        raise InvalidRequest(field="name", problem=f"the catalogue has no {name} (it has {nearest(name, READY)})")
    from mcpist_services.described.fetching import fetch

    overlay = overlay_of(name, {source: fetch(source) for source in READY_APIS[name].sources}, server)
    return ModuleRequest(name=name, overlay=overlay.dump())


def overlay_of(name: str, files: Mapping[str, bytes], server: str = "") -> "Overlay":
    """Return the overlay of an API of the catalogue, by the files of its description."""
    from mcpist_services.described.description import DescriptionFile, parse_files
    from mcpist_services.described.proposal import propose

    ready = READY_APIS[name]
    description = parse_files([DescriptionFile(*file) for file in files.items()], ready.operations)
    proposed = propose(
        description,
        name,
        source=", ".join(ready.sources),
        operations=ready.operations,
        server=server or ready.server,
        names=ready.names,
    )
    return ready.corrected(proposed)
