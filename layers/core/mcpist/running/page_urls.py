"""Addresses of pages: what a tool shows, as people see it at the account's own site."""

from collections.abc import Mapping
from typing import Any

from mcpist.render.shows import PAGE_URL, value_at
from mcpist.tools.declare.tool import Tool


def add_page_urls(json: Any, tool: Tool, arguments: Mapping[str, Any], site_url: str) -> None:
    """Add the address of its page to each item of a tool's JSON, where a column shows it."""
    shows, page_path = tool.shows, tool.page_path
    if page_path is None or not site_url or not any(PAGE_URL in column.paths for column in shows.columns):
        return
    rows = value_at(json, shows.rows) if shows.rows else json
    for item in rows if isinstance(rows, list) else [rows]:
        if isinstance(item, dict) and (path := page_path(item, arguments)):
            item[PAGE_URL] = f"{site_url.rstrip('/')}{path}"
