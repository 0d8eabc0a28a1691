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
def summarise_page(title: Annotated[str, "The page's title, e.g. Roadmap"]) -> str:
    """Summarise a page, with what is still open in its comments."""
    return (
        f'Summarise the Notion page "{title}". In one batch, find it (notion.search), read its text '
        "(notion.get_page_content) and its open comments (notion.list_comments) by the id of the first result. Say in "
        "five sentences what it is about, then list decisions, open questions and who must do what by when. If several "
        "pages have that title, ask me which."
    )


@notion.prompt(get_data_source, query_data_source)
def weekly_review(data_source_id: DataSourceId) -> str:
    """Review a database: what moved this week, what is late, what comes next."""
    return (
        f"Review the Notion data source {data_source_id} for this week. In one batch, read its properties "
        "(notion.get_data_source) and its rows, the last edited first (notion.query_data_source with sorts "
        '[{"timestamp": "last_edited_time", "direction": "descending"}]). Group the rows: done this week, in progress, '
        "late, next. Name the person and the date of each, and what is stalled. Propose changes of status or date; "
        "change nothing before I agree."
    )


@notion.prompt(search, get_page_content)
def answer_from_notion(question: Annotated[str, "e.g. How do we release?"]) -> str:
    """Answer a question from the workspace's pages."""
    return (
        f"Answer from our Notion pages: {question} Search titles with two or three different words in one batch "
        "(notion.search), then read the pages that promise most in one batch (notion.get_page_content). Answer "
        "briefly, name the page behind each claim with its address, and say what the pages leave open."
    )


notion.completes("title", search, "title")
