"""The tools of Confluence, in the order in which they are listed."""

from mcpist_services.confluence.module import confluence

from mcpist_services.confluence.tools import pages, copies, blog_posts, comments, attachments, prompts  # isort: skip

__all__ = ["attachments", "blog_posts", "comments", "confluence", "copies", "pages", "prompts"]
