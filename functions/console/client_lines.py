"""The lines with which each MCP client adds the endpoint."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientLines:
    """The lines to paste for one client."""

    name: str
    place: str
    """The key of the text that says where to paste it."""
    text: str


def lines(mcp_url: str) -> list[ClientLines]:
    """Return the lines for the endpoint's address."""
    return [
        ClientLines("Claude Code", "shell", f"claude mcp add --transport http mcpist {mcp_url}"),
        ClientLines("Claude Desktop, claude.ai", "connector", mcp_url),
        ClientLines("Codex", "shell", f"codex mcp add mcpist --url {mcp_url}"),
        ClientLines("Cursor", "cursor", _json({"mcpServers": {"mcpist": {"url": mcp_url}}})),
        ClientLines("OpenCode", "opencode", _json({"mcp": {"mcpist": {"type": "remote", "url": mcp_url}}})),
        ClientLines("VS Code", "vscode", _json({"servers": {"mcpist": {"type": "http", "url": mcp_url}}})),
        ClientLines("Gemini CLI", "shell", f"gemini mcp add --transport http mcpist {mcp_url}"),
        ClientLines("mcp-remote", "command", f"npx -y mcp-remote {mcp_url}"),
        ClientLines(
            "Inspector", "shell", f"npx @modelcontextprotocol/inspector --transport http --server-url {mcp_url}"
        ),
    ]


def _json(content: object) -> str:
    return json.dumps(content, indent=2)
