"""The tools of Confluence in the order in which they are listed, then its resources and prompts."""

from typing import Annotated

from pydantic import Field

from mcpist_services.confluence.module import PageId, SpaceKey, confluence

from mcpist_services.confluence.tools import spaces, pages, blog_posts, comments, attachments, restrictions  # isort: skip

confluence.addresses("confluence://pages/{page_id}", pages.get_page, "document", "A page as Markdown.")
confluence.addresses("confluence://spaces/{space_id}/pages", pages.list_pages, "pages", "The pages of a space.")
confluence.addresses(
    "confluence://pages/{page_id}/comments", comments.list_comments, "comments", "The comments below a page."
)


@confluence.prompt(pages.get_page, comments.list_comments, attachments.list_tasks)
def summarise_page(page_id: PageId) -> None:
    """Summarise a page, with what is still open on it."""


@confluence.prompt(pages.search, pages.get_page, spaces.list_spaces, pages.create_page)
def draft_meeting_notes(
    space_key: SpaceKey, topic: Annotated[str, Field(min_length=1), "What the meeting was about, e.g. Release planning"]
) -> None:
    """Draft the notes of a meeting in the form that a space uses."""


@confluence.prompt(pages.search, pages.list_versions)
def find_stale_pages(
    space_key: SpaceKey, months: Annotated[int, Field(ge=1, le=120), "Months without a change"] = 6
) -> None:
    """Find the pages of a space that nobody has changed for a long time."""


confluence.completes("space_key", spaces.list_spaces, "key")
confluence.completes("space_id", spaces.list_spaces, "id")
