"""The tools of Confluence, in the order in which they are listed."""

from mcpist_services.confluence.module import confluence

from mcpist_services.confluence.tools import pages, comments, labels, prompts  # isort: skip

__all__ = ["comments", "confluence", "labels", "pages", "prompts"]
