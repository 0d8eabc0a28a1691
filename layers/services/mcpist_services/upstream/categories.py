"""Which of its servers' tools a category has, decided from names alone."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from mcpist.tools.declare.tool import Effect
from mcpist_services.upstream.configuration import Category, Override, UpstreamConfiguration

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# A tool that runs any command can do everything: it is shown only where the operator names it.
_SHELL_WORDS = frozenset({"bash", "cmd", "exec", "powershell", "pwsh", "sh", "shell", "subprocess", "terminal", "zsh"})
_RUN_VERBS = frozenset({"eval", "evaluate", "execute", "launch", "run", "spawn", "start"})
_RUN_OBJECTS = frozenset({"cli", "code", "command", "commands", "process", "processes", "program", "python", "script"})


@dataclass(frozen=True, slots=True)
class SelectedTool:
    """One tool of a category: `named` if the configuration names it, which approves it at first sight.

    A tool that is not `enabled` is neither shown nor run. `description` replaces the server's own, unless empty;
    `effect` what its hints say, unless None.
    """

    server: str
    tool: str
    named: bool
    enabled: bool
    description: str = ""
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class ResolvedCategory:
    """A category resolved against its servers' lists of tools.

    `unresolved` are configured names that none of its servers has; `clashes` are tools that are left out because an
    earlier server has a tool of the same name.
    """

    name: str
    category: Category
    tools: Mapping[str, SelectedTool]
    unresolved: tuple[str, ...] = ()
    clashes: tuple[SelectedTool, ...] = ()

    @property
    def enabled(self) -> dict[str, SelectedTool]:
        """The tools that are shown and run, unless they lack approval."""
        return {name: chosen for name, chosen in self.tools.items() if chosen.enabled}


def client_tool_name(server: str, tool: str) -> str:
    """Return a tool's name as clients show it: `mcp__serena__read_file`."""
    return f"mcp__{_client_safe(server)}__{_client_safe(tool)}"


def select_tool(category: Category, server: str, tool: str) -> SelectedTool | None:
    """Return how a category has one tool of one of its servers, or None if it does not have it."""
    names = {tool, client_tool_name(server, tool)}
    selection = category.tools
    named = not names.isdisjoint(selection.include_names)
    if not named:
        includes_all = not selection.include_names and not selection.include_patterns
        included = includes_all or _matches(names, selection.include_patterns)
        if not included or _matches(names, selection.exclude_patterns):
            return None
    override = next((one for name, one in selection.overrides.items() if name in names), Override())
    explicitly_enabled = named or "enabled" in override.model_fields_set
    enabled = override.enabled and (explicitly_enabled or not is_shell_like(tool))
    return SelectedTool(server, tool, named, enabled, override.description or "", override.effect)


def resolve(name: str, category: Category, listed: Mapping[str, Collection[str]]) -> ResolvedCategory:
    """Resolve a category against its servers' tools; servers that are not in `listed` are unknown."""
    tools: dict[str, SelectedTool] = {}
    clashes: list[SelectedTool] = []
    for server in category.servers:
        for tool in listed.get(server, ()):
            chosen = select_tool(category, server, tool)
            if chosen is None:
                continue
            if tools.setdefault(tool, chosen) is not chosen:
                clashes.append(chosen)
    return ResolvedCategory(name, category, tools, tuple(_unresolved(category, listed)), tuple(clashes))


def resolve_all(configuration: UpstreamConfiguration, listed: Mapping[str, Collection[str]]) -> list[ResolvedCategory]:
    """Resolve every category that is offered."""
    return [resolve(name, category, listed) for name, category in configuration.all_categories.items()]


def counts(resolved: Iterable[ResolvedCategory]) -> dict[str, int]:
    """Count categories, tools, disabled tools and unresolved names, for the log at the start."""
    total: Counter[str] = Counter(categories=0, tools=0, disabled=0, unresolved=0)
    for one in resolved:
        enabled = len(one.enabled)
        total.update(categories=1, tools=enabled, disabled=len(one.tools) - enabled, unresolved=len(one.unresolved))
    return dict(total)


def is_shell_like(tool: str) -> bool:
    """Whether a tool probably runs commands that it is given: `execute_shell_command`, `runTerminalCmd`."""
    words = set(re.split(r"[^a-z0-9]+", _CAMEL.sub("_", tool).lower()))
    return bool(words & _SHELL_WORDS) or bool(words & _RUN_VERBS and words & _RUN_OBJECTS)


def _unresolved(category: Category, listed: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Return the configured names that no server has, once all servers of the category are known."""
    if not all(server in listed for server in category.servers):
        return
    known = {
        name
        for server in category.servers
        for tool in listed[server]
        for name in (tool, client_tool_name(server, tool))
    }
    given = dict.fromkeys([*category.tools.include_names, *category.tools.overrides])
    yield from (name for name in given if name not in known)


def _matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _client_safe(name: str) -> str:
    """Return a name with only the characters that clients keep."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
