"""Resources: addresses that stand for reading tools, under the same sieve."""

from collections.abc import Iterator

from mcp_types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from mcp_endpoint.exchange import MOST_CHARACTERS, Exchange
from mcpist.errors import FileNotFound
from mcpist.files import fit
from mcpist.render.answer import compact
from mcpist.running.run import run
from mcpist.sieve import Sieve
from mcpist.tools.index import ModuleEntry, ResourceEntry


def fixed(sieve: Sieve) -> list[Resource]:
    """The caller's resources that stand at one address."""
    return [
        Resource(name=name, uri=one.template, description=one.description, mime_type=one.mime_type)
        for name, _, one in _offered(sieve)
        if not one.variables
    ]


def templates(sieve: Sieve) -> list[ResourceTemplate]:
    """The caller's resources that stand at an address of their own for each value."""
    return [
        ResourceTemplate(name=name, uri_template=one.template, description=one.description, mime_type=one.mime_type)
        for name, _, one in _offered(sieve)
        if one.variables
    ]


def read(exchange: Exchange, sieve: Sieve, uri: str) -> ReadResourceResult:
    """What a resource holds, as the model reads it; a McpistError says why it cannot be read."""
    for _, module, entry in _offered(sieve):
        if not uri.startswith(f"{module.name.replace('_', '-')}://"):
            continue
        home = sieve.catalogue.module(module.name)
        resource = home.resources[entry.name]
        arguments = resource.arguments(uri)
        if arguments is not None:
            tool, left = resource.tool, exchange.remaining
            brought = run(exchange.caller, home, tool, arguments, request=exchange.request, seconds=left)
            text = "\n".join(filter(None, [compact(brought.json, tool.shows), brought.more]))
            text = fit(exchange.caller.organization, text, MOST_CHARACTERS)
            return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=entry.mime_type, text=text)])
    raise FileNotFound(path=uri)


def _offered(sieve: Sieve) -> Iterator[tuple[str, ModuleEntry, ResourceEntry]]:
    """The caller's resources with their full names and modules."""
    for module in sieve.modules():
        for resource in sieve.resources(module):
            yield f"{module.name}.{resource.name}", module, resource
