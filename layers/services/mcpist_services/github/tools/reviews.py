"""Reviews of pull requests: who looks at one, what they say, and comments on lines."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field, with_config

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, given, path_template
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import row_where, undone_by, unless
from mcpist_services.github.module import (
    ADDRESSES,
    Direction,
    IssueNumber,
    Markdown,
    Number,
    Owner,
    Repo,
    Time,
    github,
    repo_path,
)
from mcpist_services.github.tools.pulls import pull_path

_review_path = path_template("/repos/{owner}/{repo}/pulls/{number}/reviews/{review}")
REVIEW = ("id", "user.login as author", "state", "submitted_at as submitted", "body")


REVIEWED = shows("id", "state", "html_url as url")


Verdict = Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"]


ReviewId = Annotated[Number, "The id that list_reviews or create_review shows, e.g. 80"]


@with_config(extra="forbid", coerce_numbers_to_str=True)
class LineComment(TypedDict):
    """A comment on lines of a file: on one, or from start_line to line."""

    path: str
    line: Annotated[int, Field(ge=1)]
    body: Annotated[Markdown, Field(min_length=1)]
    side: NotRequired[Literal["LEFT", "RIGHT"]]
    start_line: NotRequired[Annotated[int, Field(ge=1)]]


LineComments = Annotated[
    list[LineComment],
    Field(min_length=1),
    'On lines of files; LEFT: of the old version, e.g. [{"path": "app.py", "line": 3, "body": "Why?"}]',
]


@github.lists(shows(*REVIEW, "html_url as url"), "pulls/list-reviews")
def list_reviews(owner: Owner, repo: Repo, pull_number: IssueNumber) -> Call:
    """List the reviews of a pull request: who approved, who asked for changes."""
    return Call("GET", pull_path(owner, repo, pull_number, "/reviews"))


@github.writes(
    REVIEWED,
    "pulls/create-review",
    undo=unless(
        lambda change: change.arguments["event"],
        "others have seen a review that was submitted",
        undone_by(
            "delete_pending_review(owner, repo, pull_number, review_id=answer.id)",
            read="list_reviews",
            select=row_where("id", "answer.id"),
            creates=True,
            fields="state",
        ),
    ),
)
def create_review(
    owner: Owner,
    repo: Repo,
    pull_number: IssueNumber,
    event: Annotated[Verdict | None, "Left out, the review is pending: only you see it until submit_review"] = None,
    body: Annotated[Markdown | None, "Markdown; needed unless you approve, e.g. Looks good."] = None,
    comments: LineComments | None = None,
    commit_id: Annotated[str | None, "The commit that you reviewed; the newest if left out, e.g. 6dcb09b5b578"] = None,
) -> Call:
    """Review a pull request: approve it, ask for changes, comment, or begin a pending review."""
    fields = given(event=event, body=body, comments=comments, commit_id=commit_id)
    return Call("POST", pull_path(owner, repo, pull_number, "/reviews"), json=fields)


@github.writes(REVIEWED, "pulls/submit-review", irreversible="others have seen a review that was submitted")
def submit_review(
    owner: Owner,
    repo: Repo,
    pull_number: IssueNumber,
    review_id: ReviewId,
    event: Verdict,
    body: Annotated[Markdown | None, "Markdown; needed unless you approve, e.g. Looks good."] = None,
) -> Call:
    """Submit a pending review, so that others see it."""
    place = _review_path(owner, repo, pull_number, review_id)
    return Call("POST", f"{place}/events", json=given(event=event, body=body))


@github.destroys(REVIEWED, "pulls/delete-pending-review", irreversible="GitHub keeps no review that was discarded")
def delete_pending_review(owner: Owner, repo: Repo, pull_number: IssueNumber, review_id: ReviewId) -> Call:
    """Discard a pending review with its comments."""
    return Call("DELETE", _review_path(owner, repo, pull_number, review_id))


ReviewComment = Annotated[
    Number,
    from_url(ADDRESSES, "comment_id__review"),
    "The id of the first comment of its thread, as list_review_comments shows it",
]


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


@github.lists(COMMENTS, "pulls/list-review-comments")
def list_review_comments(
    owner: Owner,
    repo: Repo,
    pull_number: IssueNumber,
    sort: Literal["created", "updated"] = "created",
    direction: Direction = "asc",
    since: Time | None = None,
) -> Call:
    """List the comments on lines of a pull request; the others are those of list_issue_comments."""
    query = given(sort=sort, direction=direction, since=since)
    return Call("GET", pull_path(owner, repo, pull_number, "/comments"), query)


@github.writes(
    shows("id", "in_reply_to_id as in_reply_to", "html_url as url"),
    "pulls/create-reply-for-review-comment",
    undo=undone_by(
        "delete_review_comment(owner, repo, comment_id=answer.id)",
        read="list_review_comments(pull_number)",
        select=row_where("id", "answer.id"),
        creates=True,
        fields="body",
    ),
)
def reply_to_review_comment(
    owner: Owner,
    repo: Repo,
    pull_number: IssueNumber,
    comment_id: ReviewComment,
    body: Annotated[Markdown, "Markdown, e.g. Done in the last commit."],
) -> Call:
    """Answer a comment on a line of a pull request."""
    replies = "/pulls/{number}/comments/{comment}/replies"
    return Call("POST", repo_path(owner, repo, replies, number=pull_number, comment=comment_id), json={"body": body})


@github.destroys(DONE, "pulls/delete-review-comment", idempotent=True, irreversible="GitHub keeps no deleted comment")
def delete_review_comment(
    owner: Owner, repo: Repo, comment_id: Annotated[Number, "The id that list_review_comments shows"]
) -> Call:
    """Delete a comment on a line of a pull request."""
    return Call("DELETE", repo_path(owner, repo, "/pulls/comments/{comment}", comment=comment_id))
