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
def summarise_page(page_id: PageId) -> str:
    """Summarise a page, with what is still open on it."""
    return (
        f"Summarise page {page_id} of Confluence. In one batch, read it (confluence.get_page), its comments of both "
        "kinds (confluence.list_comments) and its open tasks (confluence.list_tasks). Say in a few sentences what it "
        "is for and what it decides; then list what is open, with who is to do it and by when, and which comments "
        "wait for an answer. Change nothing before I agree."
    )


@confluence.prompt(search, get_page, list_spaces, create_page)
def draft_meeting_notes(
    space_key: SpaceKey, topic: Annotated[str, Field(min_length=1), "What the meeting was about, e.g. Release planning"]
) -> str:
    """Draft the notes of a meeting in the form that a space uses."""
    return (
        f"Draft notes of the meeting about {topic!r} for the Confluence space {space_key}. In one batch, find the "
        f'newest notes there (confluence.search with `type = page AND space = "{space_key}" AND title ~ "meeting" '
        "ORDER BY created DESC`), read the first of them (confluence.get_page) and find the space's id "
        "(confluence.list_spaces). Ask me for what you need: who was there, what was decided, who does what by when. "
        "Write the notes in the same form, tasks as `- [ ]`, and show them. Only when I agree, create the page "
        "(confluence.create_page)."
    )


@confluence.prompt(search, list_versions)
def find_stale_pages(
    space_key: SpaceKey, months: Annotated[int, Field(ge=1, le=120), "Months without a change"] = 6
) -> str:
    """Find the pages of a space that nobody has changed for a long time."""
    return (
        f"Find stale pages in the Confluence space {space_key}. In one batch, search the pages that nobody changed for "
        f'{months} months (confluence.search with `type = page AND space = "{space_key}" AND lastmodified < '
        f'now("-{months}M") ORDER BY lastmodified`) and list the versions of the oldest ten '
        "(confluence.list_versions). Group them into: still true, to be revised, to be archived. Say why in one line "
        "each, with the address and who changed it last. Change nothing before I agree."
    )


confluence.completes("space_key", list_spaces, "key")
confluence.completes("space_id", list_spaces, "id")
