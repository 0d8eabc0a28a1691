"""Comments and people."""

from typing import Annotated

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, path
from mcpist_services.notion.module import (
    BLOCK_EXAMPLE,
    PAGE_EXAMPLE,
    BlockId,
    DiscussionId,
    Id,
    Markdown,
    PageId,
    notion,
    parent_of,
)
from mcpist_services.notion.rich_text import comment

USER = ("id", "name", "type", "person.email as email")
DISCUSSION_EXAMPLE = "f1407351-36f5-4c49-a13c-49f8ba11776d"
COMMENTS = shows(
    "id",
    "discussion_id",
    "display_name.resolved_name as author",
    "created_time as created",
    "row.text as text",
    rows="results",
)
COMMENT_PLACES = ({"page_id": PAGE_EXAMPLE}, {"block_id": BLOCK_EXAMPLE}, {"discussion_id": DISCUSSION_EXAMPLE})
BOT = shows("id", "name", "type", "bot.workspace_name as workspace", "bot.owner.user.name as owner")

UserId = Annotated[Id, "As list_users shows it, e.g. d40e767c-d7af-4b18-a86d-55c61f1e39a4"]
Discussion = Annotated[DiscussionId, f"In this discussion, as list_comments shows it, e.g. {DISCUSSION_EXAMPLE}"]


@notion.lists(COMMENTS, "list-comments")
def list_comments(block_id: Annotated[BlockId, f"A page's id, or a block's, e.g. {PAGE_EXAMPLE}"]) -> Call:
    """List the open comments on a page or on one block."""
    return Call("GET", "/v1/comments", {"block_id": block_id})


@notion.writes(
    shows("id", "discussion_id"),
    "create-a-comment",
    uses=COMMENT_PLACES,
    irreversible="Notion lets no tool delete a comment",
)
def add_comment(
    markdown: Annotated[Markdown, "[@name](mention:user id) names a person, e.g. Looks **good**."],
    page_id: Annotated[PageId | None, f"On this page, e.g. {PAGE_EXAMPLE}"] = None,
    block_id: Annotated[BlockId | None, f"On this block, e.g. {BLOCK_EXAMPLE}"] = None,
    discussion_id: Discussion | None = None,
) -> Call:
    """Comment on a page or a block, or reply in a discussion."""
    place = parent_of(page_id=page_id, block_id=block_id, discussion_id=discussion_id)
    where = {"discussion_id": discussion_id} if discussion_id else {"parent": place}
    return Call("POST", "/v1/comments", json={**where, "rich_text": comment(markdown)})


@notion.lists(shows(*USER, rows="results"), "get-users")
def list_users() -> Call:
    """List the people and bots of the workspace; guests are not among them."""
    return Call("GET", "/v1/users")


@notion.reads(shows(*USER), "get-user")
def get_user(user_id: UserId) -> Call:
    """Read one person or bot."""
    return Call("GET", path("/v1/users/{user_id}", user_id=user_id))


@notion.reads(BOT, "get-self")
def get_self() -> Call:
    """Read the bot that Notion is connected with, and its workspace."""
    return Call("GET", "/v1/users/me")
