"""A category as a module: its tools, resources and prompts are those of upstream servers."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import mcp_types

from mcpist.errors import ApprovalRequired, DisabledByOperator, McpistError, SchemaFetchError
from mcpist.moments import utc_text
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.schema_tool import UpstreamTool, declares_effect, effect_of
from mcpist.tools.declare.tool import Effect, ModuleMetadata
from mcpist.tools.search.index import ModuleEntry, PromptEntry, ResourceEntry
from mcpist_services.upstream.categories import ResolvedCategory, SelectedTool, select_tool
from mcpist_services.upstream.checked_items import RejectedItem
from mcpist_services.upstream.configuration import Category, UpstreamServer
from mcpist_services.upstream.listing import ServerMaterial
from mcpist_services.upstream.lists import ServerState
from mcpist_services.upstream.peers import CategoryPeers
from mcpist_services.upstream.registered import columns_of, label, server_of
from mcpist_services.upstream.trust import Verdict, judge, name_problem

URI_PREFIX = "mcpist://categories/{category}/{server}/"
DEFAULT_MIME_TYPE = "application/octet-stream"
WITHHELD_REASONS: Mapping[Verdict, str] = {
    "changed": "it has changed since it was approved",
    "new": "nobody has approved it yet",
    "refused": "its name cannot be used here",
}


class CategoryModule(Module):
    """A module of servers' tools; `withheld` are the tools that are neither shown nor run, with the reason.

    `waiting` are those of them that wait for an approval, by their servers.
    """

    def __init__(
        self,
        resolved: ResolvedCategory,
        known: Mapping[str, ServerState],
        owned_servers: Collection[str],
        about: ModuleMetadata,
    ) -> None:
        self.servers = resolved.category.servers
        self.withheld: dict[str, McpistError] = {}
        self.waiting: dict[str, dict[str, mcp_types.Tool]] = {}
        self._unavailable = list(resolved.unresolved)  # a tool that nobody named or approved is not even shown by name
        self._resolved = resolved
        self._known = known
        self._listings = {server: kept.listing for server in self.servers if (kept := known[server].cached)}
        self._owned_servers = [server for server in owned_servers if server in self._listings]
        self._prefixes = {
            server: URI_PREFIX.format(category=resolved.name, server=label(server)) for server in self._owned_servers
        }
        self._materials = {server: self._approved_materials(server) for server in self._owned_servers}
        prompts = {
            one.name: server
            for server in self._owned_servers[::-1]  # of two prompts of one name the first server's counts
            for one in self._materials[server]
            if isinstance(one, mcp_types.Prompt)
        }
        peers = CategoryPeers(resolved.name, self._prefixes, prompts)
        super().__init__(
            resolved.name,
            resolved.category.description,
            api_version="mcp",
            upstream=peers,
            kind="upstream",
            **ModuleMetadata(**{"category": "upstream", "author": ", ".join(map(label, self.servers)), **about}),
        )
        self.description = " ".join(resolved.category.description.split())
        given = {server: {tool.name: tool for tool in listing.tools} for server, listing in self._listings.items()}
        for chosen in resolved.tools.values():
            self._add_tool(chosen, given[chosen.server][chosen.tool])
        for server, listing in self._listings.items():
            self._withhold_broken_tools(server, listing.rejected)

    @property
    def services(self) -> tuple[str, ...]:
        """The services whose accounts the servers' requests use."""
        grants = (server_of(server).grants for server in self.servers)
        return tuple(sorted(set().union(*grants)))

    @property
    def source(self) -> str | dict[str, str]:
        """The server of its tools; if there are several, the server of each tool."""
        if len(self.servers) == 1:
            return label(self.servers[0])
        return {name: label(tool.server) for name, tool in self.tools.items() if isinstance(tool, UpstreamTool)}

    @cached_property
    def entry(self) -> ModuleEntry:
        """The category's entry in the index."""
        entry = ModuleEntry.of(self)
        tools = {name: replace(tool, about=self._approval(name)) for name, tool in entry.tools.items()}
        return replace(
            entry,
            tools=tools,
            registered_at=min((tool.about["registered_at"] for tool in tools.values()), default=""),
            resources={one.template: one for one in self._resource_entries()},
            prompts={one.name: one for one in self._prompt_entries()},
            notes=self._notes(),
            listed=bool(self._listings),
        )

    def missing_reason(self, tool: str) -> McpistError | None:
        """Return why a tool, or every tool, is missing, where more can be said than that."""
        failures = [failure for server in self.servers if (failure := self._known[server].failure)]
        if tool:
            may_be_unlisted = failures and len(self._listings) < len(self.servers)
            found = self.withheld.get(tool) or (failures[0] if may_be_unlisted else None)
        elif self._listings:
            found = None
        else:
            not_listed = SchemaFetchError(service=label(self.servers[0]), problem="it has not answered yet")
            found = failures[0] if failures else not_listed
        return type(found)(**found.details) if found else None  # the caller that raises it adds the place

    def _approved_materials(self, server: str) -> list[ServerMaterial]:
        """Return the resources and prompts of a server that are as they were pinned."""
        pins = self._known[server].pins
        return [one for one in self._listings[server].materials if judge(pins, one, named=False) == "approved"]

    def _add_tool(self, chosen: SelectedTool, given: mcp_types.Tool) -> None:
        """Offer a tool, unless it is disabled or not approved."""
        full_name = f"{self.name}.{chosen.tool}"
        if not chosen.enabled:
            self.withheld[chosen.tool] = DisabledByOperator(name=full_name)
            return
        verdict = judge(self._known[chosen.server].pins, given, named=chosen.named)
        if verdict != "approved":
            if chosen.named or verdict == "changed":
                self._unavailable.append(chosen.tool)
            self.withheld[chosen.tool] = ApprovalRequired(name=full_name, problem=WITHHELD_REASONS[verdict])
            self.waiting.setdefault(chosen.server, {})[chosen.tool] = given
            return
        configured = configured_effect(given, chosen, self._resolved.category, server_of(chosen.server))
        given = _overridden(given, chosen.description, configured)
        effect, hints = effect_of(given), given.annotations
        self.tools[chosen.tool] = UpstreamTool(
            module=self.name,
            effect=effect,
            is_effect_configured=configured is not None,
            idempotent=effect == "reads" or bool(hints and hints.idempotent_hint),
            given=given,
            server=chosen.server,
            service=next(iter(sorted(server_of(chosen.server).grants)), None),
            shows=columns_of(self.servers),
        )

    def _withhold_broken_tools(self, server: str, rejected: Iterable[RejectedItem]) -> None:
        """Say of each broken tool that the category would have what is wrong with it."""
        for item in rejected:
            if item.kind != "tools" or item.name in self.tools or item.name in self.withheld:
                continue
            chosen = select_tool(self._resolved.category, server, item.name)
            if chosen is not None and chosen.enabled and not name_problem(item.name):
                self.withheld[item.name] = SchemaFetchError(service=label(server), problem=item.problem)

    def _approval(self, tool: str) -> dict[str, str]:
        """Return when a tool was approved, as its metadata."""
        approved_at = self._known[self._resolved.tools[tool].server].pins[tool].approved_at
        return {"registered_at": utc_text(approved_at)}

    def _notes(self) -> dict[str, Any]:
        notes: dict[str, Any] = {"source_server": self.source}
        if self._resolved.category.skill:
            notes["skill"] = self._resolved.category.skill
        if any(self._known[server].failure for server in self._listings):
            notes["stale"] = True
        if unavailable := {*self._unavailable, *self._tools_of_silent_servers()}:
            notes["unavailable"] = sorted(unavailable)
        return notes

    def _tools_of_silent_servers(self) -> Iterator[str]:
        """Yield the tools that cannot be used while their servers are silent, also those that only the file names."""
        silent = {server for server in self.servers if self._known[server].failure}
        yield from (
            name for name, tool in self.tools.items() if isinstance(tool, UpstreamTool) and tool.server in silent
        )
        if silent - set(self._listings):
            listed = {tool.name for listing in self._listings.values() for tool in listing.tools}
            yield from (name for name in self._resolved.category.tools.include_names if name not in listed)

    def _resource_entries(self) -> Iterator[ResourceEntry]:
        for server, materials in self._materials.items():
            for one in materials:
                if isinstance(one, mcp_types.Prompt):
                    continue
                is_template = isinstance(one, mcp_types.ResourceTemplate)
                address = one.uri_template if isinstance(one, mcp_types.ResourceTemplate) else str(one.uri)
                yield ResourceEntry(
                    one.name,
                    f"{self._prefixes[server]}{address}",
                    one.description or "",
                    one.mime_type or DEFAULT_MIME_TYPE,
                    ("...",) if is_template else (),
                    tool="",
                    needs_allow=True,
                )

    def _prompt_entries(self) -> Iterator[PromptEntry]:
        for materials in reversed(self._materials.values()):
            for one in materials:
                if isinstance(one, mcp_types.Prompt):
                    arguments = tuple(map(_argument, one.arguments or ()))
                    yield PromptEntry(one.name, one.description or "", arguments, (), needs_allow=True)


def configured_effect(
    given: mcp_types.Tool, chosen: SelectedTool, category: Category, server: UpstreamServer
) -> Effect | None:
    """Return the effect that the operator has set for a tool, or for all that declare none as it does."""
    return chosen.effect or (None if declares_effect(given) else category.effect or server.effect)


def _overridden(given: mcp_types.Tool, description: str, effect: Effect | None) -> mcp_types.Tool:
    """Return a tool with the description and the effect that the operator has set for it."""
    update: dict[str, Any] = {"description": description} if description else {}
    if effect:
        hints = {"read_only_hint": effect == "reads", "destructive_hint": effect == "destroys"}
        update["annotations"] = (given.annotations or mcp_types.ToolAnnotations()).model_copy(update=hints)
    return given.model_copy(update=update)


def _argument(argument: mcp_types.PromptArgument) -> dict[str, Any]:
    described = {"description": argument.description} if argument.description else {}
    return {"name": argument.name, "required": bool(argument.required)} | described
