"""The tools of Notion, in the order in which they are listed."""

from mcpist_services.notion.module import notion

from mcpist_services.notion.tools import pages, text_search, databases, columns, views  # isort: skip
from mcpist_services.notion.tools import blocks, comments, prompts  # isort: skip

__all__ = ["blocks", "columns", "comments", "databases", "notion", "pages", "prompts", "text_search", "views"]
