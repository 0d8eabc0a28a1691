"""Comments on lines of a pull request, and its diff."""

from typing import Annotated, Literal

from mcpist.render.shows import DOWNLOADED, shows
from mcpist.tools.declare.call import Call, given
from mcpist_services.github.module import Direction, Markdown, Number, Owner, Repo, Time, github, repo_path

COMMENTS = shows(
    "id",
    "path",
    "line|original_line as line",
    "user.login as author",
    "body",
    "in_reply_to_id as in_reply_to",
    "created_at as created",
    "html_url as url",
)


@github.reads(DOWNLOADED, "pulls/get")
def get_pull_diff(owner: Owner, repo: Repo, pull_number: Number) -> Call:
    """Download the diff of a pull request as a file."""
    place = repo_path(owner, repo, "/pulls/{number}", number=pull_number)
    return Call("GET", place, headers={"accept": "application/vnd.github.diff"}, download=True)


@github.lists(COMMENTS, "pulls/list-review-comments")
def list_review_comments(
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    sort: Literal["created", "updated"] = "created",
    direction: Direction = "asc",
    since: Time | None = None,
) -> Call:
    """List the comments on lines of a pull request; the others are those of list_issue_comments."""
    place = repo_path(owner, repo, "/pulls/{number}/comments", number=pull_number)
    return Call("GET", place, given(sort=sort, direction=direction, since=since))


@github.writes(shows("id", "in_reply_to_id as in_reply_to", "html_url as url"), "pulls/create-reply-for-review-comment")
def reply_to_review_comment(
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    comment_id: Annotated[Number, "The id of the first comment of its thread, as list_review_comments shows it"],
    body: Annotated[Markdown, "Markdown, e.g. Done in the last commit."],
) -> Call:
    """Answer a comment on a line of a pull request."""
    replies = "/pulls/{number}/comments/{comment}/replies"
    return Call("POST", repo_path(owner, repo, replies, number=pull_number, comment=comment_id), json={"body": body})
