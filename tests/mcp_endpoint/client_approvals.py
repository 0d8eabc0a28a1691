"""When clients ask their person before they call a tool of a server, as their sources and documents say (2026-11).

Codex, `requires_mcp_tool_approval_for_mode`: https://github.com/openai/codex (codex-rs/core/src/mcp_tool_call.rs)
Claude Code: https://code.claude.com/docs/en/permissions
Cursor: https://cursor.com/docs/reference/permissions
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

type Approval = Callable[[str, str, Mapping[str, Any]], bool]
"""Whether a client asks before it calls a tool: the server's name in its settings, the tool, the tool's annotations."""


def codex(mode: str = "auto") -> Approval:
    """Codex with `default_tools_approval_mode`; a hint that is missing counts as the protocol's default."""

    def asks(_server: str, _tool: str, annotations: Mapping[str, Any]) -> bool:
        reads = annotations.get("readOnlyHint", False)
        if mode == "writes":
            return not reads
        if annotations.get("destructiveHint") is True:
            return True
        if reads:
            return False
        return bool(annotations.get("destructiveHint", True) or annotations.get("openWorldHint", True))

    return asks


def claude_code(*allow: str) -> Approval:
    """Claude Code in its default mode with `permissions.allow`: a rule names a server or one of its tools."""

    def asks(server: str, tool: str, _annotations: Mapping[str, Any]) -> bool:
        names = (f"mcp__{server}", f"mcp__{server}__*", f"mcp__{server}__{tool}")
        return not any(rule in names for rule in allow)

    return asks


def cursor(*allowlist: str) -> Approval:
    """Cursor with the run mode "Allowlist" and `mcpAllowlist`: patterns of `server:tool`."""

    def asks(server: str, tool: str, _annotations: Mapping[str, Any]) -> bool:
        return not any(fnmatchcase(f"{server}:{tool}", pattern) for pattern in allowlist)

    return asks
