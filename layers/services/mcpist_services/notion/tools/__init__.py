"""The tools of Notion in the order in which they are listed, then its resources and prompts."""

from typing import Annotated

from mcpist_services.notion.module import DataSourceId, notion

from mcpist_services.notion.tools import pages, text_search, databases, columns, views  # isort: skip
from mcpist_services.notion.tools import blocks, comments  # isort: skip

notion.addresses("notion://pages/{page_id}", pages.get_page_content, "page", "A page's text.")
notion.addresses(
    "notion://data-sources/{data_source_id}/rows",
    databases.query_data_source,
    "rows",
    "The rows of a database's data source.",
)
notion.addresses(
    "notion://pages/{page_id}/comments",
    comments.list_comments,
    "comments",
    "The open comments on a page.",
    lambda page_id: {"block_id": page_id},
)


@notion.prompt(pages.search, pages.get_page_content, comments.list_comments)
def summarise_page(title: Annotated[str, "The page's title, e.g. Roadmap"]) -> None:
    """Summarise a page, with what is still open in its comments."""


@notion.prompt(databases.get_data_source, databases.query_data_source)
def weekly_review(data_source_id: DataSourceId) -> None:
    """Review a database: what moved this week, what is late, what comes next."""


@notion.prompt(pages.search, pages.get_page_content)
def answer_from_notion(question: Annotated[str, "e.g. How do we release?"]) -> None:
    """Answer a question from the workspace's pages."""


notion.completes("title", pages.search, "title")
