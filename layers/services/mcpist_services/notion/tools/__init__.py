"""The tools of Notion, in the order in which they are listed."""

from mcpist_services.notion.module import notion

from mcpist_services.notion.tools import pages, databases, blocks, comments, prompts  # isort: skip

__all__ = ["blocks", "comments", "databases", "notion", "pages", "prompts"]
