"""Resources: addresses that stand for reading tools and for batches, under the same sieve."""

import re
import time
from collections.abc import Iterator

from mcp_types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from mcp_endpoint.blocks import BATCH_TYPE, BATCH_URI, fitting
from mcp_endpoint.exchange import MOST_CHARACTERS, Exchange
from mcp_endpoint.rendering import rendered
from mcpist.errors import FileNotFound
from mcpist.files.storage import fit
from mcpist.render.answer import minified
from mcpist.running.run import recorded, run
from mcpist.tools.index import ModuleEntry, ResourceEntry
from mcpist.tools.permissions import Sieve

BATCH = ResourceTemplate(
    name="batch",
    uri_template=BATCH_URI,
    description="A batch as it is now: how far it is, and what it has brought",
    mime_type=BATCH_TYPE,
)
PROGRESS = ResourceTemplate(
    name="batch_progress",
    uri_template=f"{BATCH_URI}/progress",
    description="How each step of a batch stands, for programs that watch",
    mime_type="application/json",
)

_CATEGORY = re.compile(r"mcpist://categories/(?P<name>[^/]+)/")
_BATCH = re.compile(r"mcpist://batches/(?P<id>[^/]+)(?P<progress>/progress)?")


def fixed(sieve: Sieve) -> list[Resource]:
    """The caller's resources that stand at one address."""
    return [
        Resource(name=name, uri=one.template, description=one.description, mime_type=one.mime_type)
        for name, _, one in _offered(sieve)
        if not one.variables
    ]


def templates(sieve: Sieve) -> list[ResourceTemplate]:
    """The caller's resources that stand at an address of their own for each value."""
    offered = [
        ResourceTemplate(name=name, uri_template=one.template, description=one.description, mime_type=one.mime_type)
        for name, _, one in _offered(sieve)
        if one.variables
    ]
    return [*offered, BATCH, PROGRESS]


def read(exchange: Exchange, sieve: Sieve, uri: str) -> ReadResourceResult:
    """What a resource holds, as the model reads it; a McpistError says why it cannot be read."""
    category = _CATEGORY.match(uri)
    if category:
        return _upstream(exchange, sieve, uri, category["name"])
    mime_type, text = _batch(exchange, sieve, uri) or _tool(exchange, sieve, uri)
    text = fit(exchange.caller.organization, text, MOST_CHARACTERS)
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=mime_type, text=text)])


def _batch(exchange: Exchange, sieve: Sieve, uri: str) -> tuple[str, str] | None:
    found = _BATCH.fullmatch(uri)
    if found is None:
        return None
    from mcp_endpoint import batches, report  # only who asks for a batch waits for what batches need
    from mcpist.batch.ledger import ledger
    from mcpist.batch.ledger.progress import progress

    head = batches.own(exchange.caller, found["id"])
    if found["progress"]:
        return "application/json", minified(progress(head, ledger.entries(head.pk), time.time()))
    return BATCH_TYPE, "\n\n".join(part for part in report.parts(head, sieve) if isinstance(part, str))


def _upstream(exchange: Exchange, sieve: Sieve, uri: str, category: str) -> ReadResourceResult:
    """What a server behind a category of the caller's holds, as it answers it."""
    peers = sieve.catalogue.module(sieve.module(category).name).peers
    if peers is None:
        raise FileNotFound(path=uri)
    with recorded(exchange.caller, category, "resources/read", exchange.request):
        found = peers.read(exchange.caller, uri, until=time.monotonic() + exchange.remaining)
    return fitting(exchange.caller.organization, found)


def _tool(exchange: Exchange, sieve: Sieve, uri: str) -> tuple[str, str]:
    for _, module, entry in _offered(sieve):
        if not uri.startswith(f"{module.name.replace('_', '-')}://"):
            continue
        home = sieve.catalogue.module(module.name)
        resource = home.resources[entry.name]
        arguments = resource.arguments(uri)
        if arguments is not None:
            tool, left = resource.tool, exchange.remaining
            brought = run(exchange.caller, home, tool, arguments, request=exchange.request, seconds=left)
            return entry.mime_type, "\n".join(filter(None, [rendered(brought.json, tool.shows), brought.more]))
    raise FileNotFound(path=uri)


def _offered(sieve: Sieve) -> Iterator[tuple[str, ModuleEntry, ResourceEntry]]:
    """The caller's resources with their full names and modules."""
    for module in sieve.modules():
        for resource in sieve.resources(module):
            yield f"{module.name}.{resource.name}", module, resource
