"""Resources and prompts of Notion."""

from collections.abc import Mapping
from typing import Annotated, Any

from mcpist_services.notion.module import DataSourceId, notion
from mcpist_services.notion.tools.comments import list_comments
from mcpist_services.notion.tools.databases import get_data_source, query_data_source
from mcpist_services.notion.tools.pages import get_page_content, search

notion.addresses("notion://pages/{page_id}", get_page_content, "page", "A page's text.")
notion.addresses(
    "notion://data-sources/{data_source_id}/rows", query_data_source, "rows", "The rows of a database's data source."
)


@notion.resource("notion://pages/{page_id}/comments", list_comments)
def comments(page_id: str) -> Mapping[str, Any]:
    """The open comments on a page."""
    return {"block_id": page_id}


@notion.prompt(search, get_page_content, list_comments)
def summarise_page(title: Annotated[str, "The page's title, e.g. Roadmap"]) -> None:
    """Summarise a page, with what is still open in its comments."""


@notion.prompt(get_data_source, query_data_source)
def weekly_review(data_source_id: DataSourceId) -> None:
    """Review a database: what moved this week, what is late, what comes next."""


@notion.prompt(search, get_page_content)
def answer_from_notion(question: Annotated[str, "e.g. How do we release?"]) -> None:
    """Answer a question from the workspace's pages."""


notion.completes("title", search, "title")
