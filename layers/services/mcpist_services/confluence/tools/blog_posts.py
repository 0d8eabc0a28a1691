"""Blog posts."""

from typing import Annotated, Literal

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, Calls, changes, given, path_template
from mcpist_services.confluence.edits import ReadVersion, Why, created, edited, replace_all, restore, trashed, update
from mcpist_services.confluence.module import (
    CHANGED,
    RESTORED,
    Body,
    Dates,
    PostId,
    SpaceId,
    Title,
    confluence,
    send_with_markdown,
    storage_body,
)

_post_path = path_template("/wiki/api/v2/blogposts/{post_id}")
POST = ("id", "title", "status", "spaceId as space_id", "authorId as author_id", "createdAt as created")
POSTS = "/wiki/api/v2/blogposts"
CHANGING = ("read:page:confluence", "write:page:confluence")


@confluence.lists(shows(*POST, "page_url as url", rows="results"), "getBlogPosts")
def list_blog_posts(
    space_id: SpaceId | None = None,
    title: Annotated[Title | None, "Exactly this title, e.g. We have moved"] = None,
    status: Annotated[list[Literal["current", "deleted", "trashed"]] | None, "Current if left out"] = None,
    sort: Literal[Dates, "id", "-id"] = "-created-date",
) -> Call:
    """List the blog posts of a space or of all spaces, the newest first."""
    query = {"space-id": space_id, "title": title, "status": status, "sort": sort}
    return Call("GET", POSTS, given(**query))


@confluence.reads(shows(*POST, "version.number as version", "url", "markdown", text="markdown"), "getBlogPostById")
def get_blog_post(
    blog_post_id: PostId,
    version: Annotated[int | None, Field(ge=1), "An older version, e.g. 3"] = None,
    get_draft: Annotated[bool, "Read the draft that is not published yet"] = False,
) -> Calls:
    """Read one blog post as Markdown."""
    query = {"body-format": "storage", "version": version, "get-draft": get_draft or None}
    return send_with_markdown(Call("GET", _post_path(blog_post_id), given(**query)))


@confluence.writes(CHANGED, "createBlogPost", undo=created("blog_post"))
def create_blog_post(
    space_id: SpaceId,
    title: Annotated[Title, "e.g. We have moved"],
    body: Body = "",
    status: Literal["current", "draft"] = "current",
    private: Annotated[bool, "Only you can see it"] = False,
) -> Calls:
    """Create a blog post from Markdown."""
    fields = given(spaceId=space_id, status=status, title=title, body=storage_body(body))
    return send_with_markdown(Call("POST", POSTS, given(private=private or None), json=fields))


@confluence.writes(
    CHANGED, "updateBlogPost", scopes=CHANGING, uses=({"body": "## We have moved"},), undo=edited("blog_post")
)
def update_blog_post(
    blog_post_id: PostId,
    title: Annotated[Title | None, "The new title, e.g. We are moving"] = None,
    body: Annotated[Body | None, "Markdown; replaces the whole text, e.g. ## Goals"] = None,
    status: Annotated[Literal["current", "draft"] | None, "current publishes a draft"] = None,
    version: ReadVersion | None = None,
    message: Why | None = None,
) -> Calls:
    """Change a blog post's title, text or status; fields that you leave out stay as they are."""
    fields = changes(title=title, body=body, status=status)
    return update(_post_path(blog_post_id), fields, replace_all(body), version, message)


@confluence.writes(
    RESTORED,
    "restoreContentVersion",
    scopes=("write:confluence-content",),
    undo=edited("blog_post"),
)
def restore_blog_post(
    blog_post_id: PostId, version: Annotated[int, Field(ge=1), "The number of one that get_blog_post has shown, e.g. 3"]
) -> Call:
    """Make a former version of a blog post the newest one: its title and its text, macros too."""
    return restore(blog_post_id, version)


@confluence.destroys(DONE, "deleteBlogPost", undo=trashed("blog_post"))
def delete_blog_post(
    blog_post_id: PostId,
    draft: Annotated[bool, "It is a draft"] = False,
    purge: Annotated[bool, "Permanently delete it from the trash"] = False,
) -> Call:
    """Move a blog post to the trash, or permanently delete one that is there."""
    return Call("DELETE", _post_path(blog_post_id), given(draft=draft or None, purge=purge or None))
