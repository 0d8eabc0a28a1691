"""Servers that administrators registered for their organizations, beside those of the deployment's file.

A registered server's key is `NAME@HASH@ORGANIZATION`. So another definition of the same name is another server, whose
tools wait for approval again, and no organization meets another one's list, approvals or connections.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import ValidationError

from mcpist.caller import Caller, RegisteredModule
from mcpist.errors import InvalidRequest, McpistError
from mcpist.memory import Memory
from mcpist.oauth.provider import check_public_url
from mcpist.registry import definitions
from mcpist.render.shows import Shows
from mcpist.tools.declare.schema_tool import unknown_columns
from mcpist.tools.declare.tool import ModuleMetadata
from mcpist_services.upstream.configuration import Category, ToolSelection, UpstreamServer, configuration, problems_of

MAX_CACHED_SERVERS = 1_000
HASH_CHARACTERS = 16

_servers: Memory[str, UpstreamServer] = Memory(math.inf, MAX_CACHED_SERVERS)


@dataclass(frozen=True, slots=True)
class OfferedServers:
    """The servers and categories that one caller may be offered."""

    servers: Mapping[str, UpstreamServer]
    categories: Mapping[str, Category]
    about: Mapping[str, ModuleMetadata] = field(default_factory=dict)
    """The metadata of registered categories."""
    failures: Mapping[str, McpistError] = field(default_factory=dict)
    """The registered categories whose definitions could not be read."""


def offered_to(caller: Caller) -> OfferedServers:
    """Return the categories of the deployment's file, with the registered servers that a role of the caller has."""
    configured = configuration()
    registered, failures = definitions.of_caller(caller, "upstream", lambda module: _read(caller.organization, module))
    servers = {key: server for key, server, _ in registered.values()}
    categories = {name: _category(key, definition) for name, (key, _, definition) in registered.items()}
    about = {name: cast("ModuleMetadata", definition["about"]) for name, (_, _, definition) in registered.items()}
    return OfferedServers(
        {**configured.servers, **servers}, {**configured.all_categories, **categories}, about, failures
    )


def _read(organization: str, module: RegisteredModule) -> tuple[str, UpstreamServer, definitions.Definition]:
    """Return the key, the server and the definition of a registered module."""
    definition = definitions.load(organization, module.sha256)
    key = server_key(organization, module.name, module.sha256)
    return key, know_server(key, definition), definition


def know_server(key: str, definition: definitions.Definition) -> UpstreamServer:
    """Return the server of a definition, which this sandbox can reach by its key from now on."""
    return _servers.put(key, _servers.get(key) or UpstreamServer.model_validate(definition["server"]))


def define_server(name: str, server: Mapping[str, Any], tools: Mapping[str, Any]) -> definitions.Definition:
    """Return the definition of a remote server and of the choice of its tools; InvalidRequest names a wrong field.

    Its headers may refer to the accounts that people connect for it alone: neither the operator's parameters nor
    accounts of other services are an organization's to send anywhere.
    """
    place = ""
    try:
        configured = UpstreamServer.model_validate(server)
        place = "tools."
        ToolSelection.model_validate(tools, by_alias=True, by_name=False)
    except ValidationError as error:
        field, problem = next(problems_of(error))
        raise InvalidRequest(field=f"{place}{field}", problem=problem) from None
    for reference in configured.references - {f"grant:{name}"}:
        problem = f"it refers to {reference}: a registered server may refer to grant:{name} only"
        raise InvalidRequest(field="headers", problem=problem)
    try:
        check_public_url(configured.url)
    except ValueError as error:
        raise InvalidRequest(field="url", problem=str(error)) from None
    return {
        "server": configured.model_dump(mode="json", exclude_defaults=True) | {"headers": dict(configured.headers)},
        "tools": dict(tools),
    }


def _category(key: str, definition: definitions.Definition) -> Category:
    description, tools = definition["server"]["description"], ToolSelection(**definition["tools"])
    return Category(description=description, servers=(key,), tools=tools)


def server_of(key: str) -> UpstreamServer:
    """Return a configured or registered server; LookupError for one that this sandbox does not know."""
    configured = configuration().servers.get(key) or _servers.get(key)
    if configured is None:
        raise LookupError(f"no server {label(key)}")
    return configured


def columns_of(keys: Iterable[str]) -> Shows:
    """Return the columns of what servers answer, without what the operator says is noise."""
    return unknown_columns([pattern for key in keys for pattern in server_of(key).noise])


def server_key(organization: str, name: str, digest: str) -> str:
    """Return the key of a registered server, whose definition has this hash."""
    return f"{name}@{digest[:HASH_CHARACTERS]}@{organization}"


def label(key: str) -> str:
    """Return the name by which people know a server."""
    return key.partition("@")[0]


def partition_of(key: str) -> str:
    """Return the partition of the ledger that has a server's list; that of a registered one begins with its tenant."""
    name, _, registered = key.partition("@")
    digest, _, organization = registered.partition("@")
    return f"{organization}#upstream#{name}#{digest}" if registered else f"upstream#{key}"
