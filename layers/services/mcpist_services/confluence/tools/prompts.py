"""Resources and prompts of Confluence."""

from typing import Annotated

from pydantic import Field

from mcpist_services.confluence.module import PageId, SpaceKey, confluence
from mcpist_services.confluence.tools.attachments import list_tasks
from mcpist_services.confluence.tools.comments import list_comments
from mcpist_services.confluence.tools.pages import create_page, get_page, list_pages, list_spaces, list_versions, search

confluence.addresses("confluence://pages/{page_id}", get_page, "document", "A page as Markdown.")
confluence.addresses("confluence://spaces/{space_id}/pages", list_pages, "pages", "The pages of a space.")
confluence.addresses("confluence://pages/{page_id}/comments", list_comments, "comments", "The comments below a page.")


@confluence.prompt(get_page, list_comments, list_tasks)
def summarise_page(page_id: PageId) -> None:
    """Summarise a page, with what is still open on it."""


@confluence.prompt(search, get_page, list_spaces, create_page)
def draft_meeting_notes(
    space_key: SpaceKey, topic: Annotated[str, Field(min_length=1), "What the meeting was about, e.g. Release planning"]
) -> None:
    """Draft the notes of a meeting in the form that a space uses."""


@confluence.prompt(search, list_versions)
def find_stale_pages(
    space_key: SpaceKey, months: Annotated[int, Field(ge=1, le=120), "Months without a change"] = 6
) -> None:
    """Find the pages of a space that nobody has changed for a long time."""


confluence.completes("space_key", list_spaces, "key")
confluence.completes("space_id", list_spaces, "id")
