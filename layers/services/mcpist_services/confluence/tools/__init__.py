"""The tools of Confluence, in the order in which they are listed."""

from mcpist_services.confluence.module import confluence

from mcpist_services.confluence.tools import pages, copies, blog_posts, comments, people, attachments, labels, prompts  # isort: skip

__all__ = ["attachments", "blog_posts", "comments", "confluence", "copies", "labels", "pages", "people", "prompts"]
