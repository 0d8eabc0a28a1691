"""Resources that a caller may read: results of reading tools, batches, and those of upstream servers."""

import base64
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mcp_types import (
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplate,
    TextResourceContents,
)
from mcp_types import Resource as Listed

from mcp_endpoint.blocks import BATCH_TYPE, BATCH_URI, limit_contents, render
from mcp_endpoint.exchange import MAX_ANSWER_CHARACTERS, McpExchange
from mcpist.errors import FileNotFound, InvalidRequest
from mcpist.files.answers import FILE_URI, content_of, describe_file, truncate
from mcpist.files.content import MARKDOWN
from mcpist.files.ranges import read_part
from mcpist.render.answer import compact_json
from mcpist.running.gate import ToolUse, admit, read_upstream, require
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.materials import Resource
from mcpist.tools.declare.tool import Tool
from mcpist.tools.search.index import ResourceEntry

MAX_FILE_PART_BYTES = MAX_ANSWER_CHARACTERS
MAX_LISTED_RESOURCES = 100
BATCH_TEMPLATE = ResourceTemplate(
    name="batch",
    uri_template=BATCH_URI,
    description="The current state of a batch, with the results so far",
    mime_type=BATCH_TYPE,
)
PROGRESS_TEMPLATE = ResourceTemplate(
    name="batch_progress",
    uri_template=f"{BATCH_URI}/progress",
    description="The state of each step of a batch, for programs",
    mime_type="application/json",
)
FILE_TEMPLATE = ResourceTemplate(
    name="file",
    uri_template="mcpist://files/{sha256}{?offset,limit}",
    description="A large result or another file of yours; offset and limit, in bytes, choose a part",
)
_FILE = re.compile(r"mcpist://files/(?P<sha256>[a-f0-9]{64})(?:\?(?P<query>.*))?")
_CATEGORY = re.compile(r"mcpist://categories/(?P<name>[^/]+)/")
_BATCH = re.compile(r"mcpist://batches/(?P<id>[^/]+)(?P<progress>/progress)?")


def list_templates(exchange: McpExchange, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    """List the caller's resources whose addresses have variables."""
    offered = [
        ResourceTemplate(
            name=name, uri_template=entry.template, description=entry.description, mime_type=entry.mime_type
        )
        for name, entry in _offered(exchange.permissions)
        if entry.variables
    ]
    own = [BATCH_TEMPLATE, PROGRESS_TEMPLATE, FILE_TEMPLATE]
    return ListResourceTemplatesResult(resource_templates=[*offered, *own])


def page(exchange: McpExchange, params: PaginatedRequestParams | None) -> ListResourcesResult:
    """List the resources with fixed addresses, and those that a tool lists, by pages."""
    permissions, cursor = exchange.permissions, (params and params.cursor) or ""
    number, after = _place(cursor) if cursor else (0, "")
    listed = [] if cursor else [*_list_fixed(permissions), *_list_skills(permissions)]
    listings = list(_listings(permissions))
    if number >= len(listings):
        return ListResourcesResult(resources=listed)
    resource, tool = listings[number]
    arguments: dict[str, Any] = {"limit": MAX_LISTED_RESOURCES} | ({"after": after} if after else {})
    use = ToolUse(tool.module, tool.name, arguments, exchange.request_id)
    result = admit(permissions, use).run(exchange.remaining)
    listed += [_listed(resource, row) for row in result.json]
    number, after = (number, result.json[-1][resource.variables[0]]) if result.more else (number + 1, "")
    return ListResourcesResult(resources=listed, next_cursor=_cursor(number, after) if number < len(listings) else None)


def read(exchange: McpExchange, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Return the contents of a resource; McpistError if it cannot be read."""
    uri = params.uri
    if category := _CATEGORY.match(uri):  # of the upstream server behind it, unchanged
        result = read_upstream(exchange.permissions, category["name"], uri, exchange.request_id, exchange.remaining)
        return limit_contents(exchange.caller, result)
    if uri.startswith("skill://"):
        text = _read_skill(exchange, uri)
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=MARKDOWN, text=text)])
    if file := _FILE.fullmatch(uri):
        return _read_file(exchange, uri, file["sha256"], file["query"] or "")
    mime_type, text = _read_batch(exchange, uri) or _read_tool(exchange, uri)
    text = truncate(exchange.caller, text, MAX_ANSWER_CHARACTERS)
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=mime_type, text=text)])


def _list_fixed(permissions: Permissions) -> Iterator[Listed]:
    """Yield the caller's resources whose addresses have no variables."""
    for name, one in _offered(permissions):
        if not one.variables:
            yield Listed(name=name, uri=one.template, description=one.description, mime_type=one.mime_type)


def _list_skills(permissions: Permissions) -> Iterator[Listed]:
    """Yield the skills, which clients without the extension read as any resource."""
    from mcpist_services import skills  # tools/list need not wait for it

    for skill in skills.list_skills(permissions):
        yield Listed(name=skill.name, uri=skill.uri, description=skill.description, mime_type=MARKDOWN)


def _read_skill(exchange: McpExchange, uri: str) -> str:
    """Return a file of a skill, whole, since clients compare its hash; that of a document is read as any document."""
    from mcpist_services import skills

    text = skills.read(exchange.permissions, uri)
    if reading := skills.tool_reading(uri):
        use = ToolUse(*reading, exchange.request_id)
        # It may have changed since its review was looked up.
        if admit(exchange.permissions, use).run(exchange.remaining).json["content"] != text:
            raise FileNotFound(path=uri)
    return text


def _read_file(exchange: McpExchange, uri: str, sha256: str, query: str) -> ReadResourceResult:
    """Read a file, or the part of it that fits; `_meta` says which part it is and where the next one begins."""
    part = read_part(exchange.caller, sha256, query, MAX_FILE_PART_BYTES)
    bare = FILE_URI.format(sha256=sha256)
    following = {} if part.end >= part.file.size_bytes else {"next": f"{bare}?offset={part.end}"}
    meta: Any = {"mcpist/part": {"offset": part.first, "size_bytes": part.file.size_bytes, **following}}
    kept: Any = {"uri": uri, "mime_type": part.file.content_type, "meta": meta}
    if part.file.is_text:
        text = part.content.decode(errors="replace")
        return ReadResourceResult(contents=[TextResourceContents(**kept, text=text)])
    blob = base64.b64encode(part.content).decode()
    return ReadResourceResult(contents=[BlobResourceContents(**kept, blob=blob)])


def _read_batch(exchange: McpExchange, uri: str) -> tuple[str, str] | None:
    match = _BATCH.fullmatch(uri)
    if match is None:
        return None
    from mcp_endpoint import batch_report
    from mcpist.batch.execution import submission
    from mcpist.batch.ledger import ledger
    from mcpist.batch.ledger.progress import progress

    head = submission.find_own(exchange.caller, match["id"])
    if match["progress"]:
        return "application/json", compact_json(progress(head, ledger.get_entries(head.pk), time.time()))
    parts = batch_report.build_parts(head, exchange.permissions)
    return BATCH_TYPE, "\n\n".join(part for part in parts if isinstance(part, str))


def _read_tool(exchange: McpExchange, uri: str) -> tuple[str, str]:
    permissions, name = exchange.permissions, uri.partition("://")[0].replace("-", "_")
    if not permissions.catalogue.index.modules.get(name):
        raise FileNotFound(path=uri)
    entry, home = permissions.catalogue.index.modules[name], permissions.catalogue.module(name)
    for resource in home.resources.values():
        arguments = resource.arguments(uri)
        if arguments is not None:
            require(permissions, name, entry.resources[resource.name], exchange.request_id)
            use = ToolUse(name, resource.tool.name, arguments, exchange.request_id)
            result, shows = admit(permissions, use).run(exchange.remaining), resource.tool.shows
            text = "\n".join(filter(None, [render(result.json, shows, exchange.caller.answer_format), result.more]))
            if len(text) > MAX_ANSWER_CHARACTERS:
                return "text/plain", describe_file(exchange.caller, content_of(result.json, shows, resource.name))[0]
            return resource.mime_type, text
    raise FileNotFound(path=uri)


def _offered(permissions: Permissions) -> Iterator[tuple[str, ResourceEntry]]:
    """Yield the caller's resources with their full names, described in the caller's language."""
    for module in permissions.modules():
        for resource in permissions.resources(module):
            text = permissions.translation(module.name).text(resource.description)
            yield f"{module.name}.{resource.name}", replace(resource, description=text)


def _listings(permissions: Permissions) -> Iterator[tuple[Resource, Tool]]:
    """Yield the caller's resources that a tool lists, where it may use that tool."""
    for module in permissions.modules():
        for entry in permissions.resources(module):
            if entry.listed_by and permissions.allows(module.tools[entry.listed_by]):
                home = permissions.catalogue.module(module.name)
                yield home.resources[entry.name], home.tools[entry.listed_by]


def _listed(resource: Resource, row: dict[str, Any]) -> Listed:
    name = row[resource.variables[0]]
    uri, title, size = resource.address(name), row.get("title"), row.get("size_bytes")
    return Listed(name=name, title=title, uri=uri, mime_type=resource.mime_type, size=size)


def _cursor(number: int, after: str) -> str:
    """Return the cursor of the rows of a listing after one of them."""
    return base64.urlsafe_b64encode(json.dumps([number, after]).encode()).decode()


def _place(cursor: str) -> tuple[int, str]:
    """Return the position that a cursor encodes."""
    try:
        number, after = json.loads(base64.urlsafe_b64decode(cursor))
        return range(1_000)[number], str(after)
    except (ValueError, TypeError, IndexError, RecursionError):
        raise InvalidRequest(field="cursor", problem="it is none of this list") from None
