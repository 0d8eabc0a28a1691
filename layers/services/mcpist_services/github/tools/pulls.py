"""Pull requests: their files and diffs, reviews, and comments on lines."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field, with_config

from mcpist.render.shows import DONE, DOWNLOADED, shows
from mcpist.tools.declare.call import Call, changes, given
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, restores, row_where, undone_by, unless
from mcpist_services.github.module import (
    ADDRESSES,
    CHANGED,
    Direction,
    IssueNumber,
    Login,
    Markdown,
    Name,
    Number,
    Owner,
    Repo,
    State,
    Time,
    github,
    repo_path,
)

FILE = ("filename", "status", "additions", "deletions")
PULL = ("number", "title", "state", "draft", "user.login as author", "head.ref as head", "base.ref as base")
REVIEW = ("id", "user.login as author", "state", "submitted_at as submitted", "body")
PULL_DETAILS = shows(
    *PULL,
    "head.sha as sha",
    "merged",
    "mergeable_state",
    "additions",
    "deletions",
    "changed_files",
    "created_at as created",
    "updated_at as updated",
    "html_url as url",
    "body",
    text="body",
)
REVIEWED = shows("id", "state", "html_url as url")
REVIEWERS = shows("number", "requested_reviewers[*].login as reviewers", "html_url as url")


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


@github.lists(shows(*PULL, "created_at as created", "updated_at as updated", "html_url as url"), "pulls/list")
def list_pulls(
    owner: Owner,
    repo: Repo,
    state: State = "open",
    head: Annotated[str | None, "Only from this branch, as owner:branch, e.g. octocat:fix/login"] = None,
    base: Annotated[str | None, "Only into this branch, e.g. main"] = None,
    sort: Literal["created", "updated", "popularity", "long-running"] = "created",
    direction: Direction = "desc",
) -> Call:
    """List a repository's pull requests."""
    query = given(state=state, head=head, base=base, sort=sort, direction=direction)
    return Call("GET", repo_path(owner, repo, "/pulls"), query)


@github.reads(PULL_DETAILS, "pulls/get")
def get_pull(owner: Owner, repo: Repo, pull_number: IssueNumber) -> Call:
    """Read one pull request with its text, and whether it can be merged."""
    return Call("GET", _pull_path(owner, repo, pull_number))


@github.lists(shows(*FILE, "patch", "blob_url as url"), "pulls/list-files")
def list_pull_files(owner: Owner, repo: Repo, pull_number: IssueNumber) -> Call:
    """List the files that a pull request changes, with their diffs."""
    return Call("GET", _pull_path(owner, repo, pull_number, "/files"))


@github.lists(shows(*REVIEW, "html_url as url"), "pulls/list-reviews")
def list_reviews(owner: Owner, repo: Repo, pull_number: IssueNumber) -> Call:
    """List the reviews of a pull request: who approved, who asked for changes."""
    return Call("GET", _pull_path(owner, repo, pull_number, "/reviews"))


CONTENT: dict[str, Any] = {
    name: name for name in ("title", "body", "state", "merged", "comments", "review_comments", "commits")
}


@github.writes(
    CHANGED,
    "pulls/create",
    undo=undone_by(
        'update_pull(owner, repo, pull_number=answer.number, state="closed")',
        read="get_pull",
        creates=True,
        fields=CONTENT,
    ),
)
def create_pull(
    owner: Owner,
    repo: Repo,
    title: Annotated[Name, "In one line, e.g. Fix the login on Safari"],
    head: Annotated[Name, "The branch with the changes, e.g. fix/login"],
    base: Annotated[Name, "The branch to merge into, e.g. main"],
    body: Annotated[Markdown | None, "Markdown, e.g. Closes #42"] = None,
    draft: Annotated[bool, "Not ready for review yet"] = False,
    maintainer_can_modify: Annotated[bool, "Whether maintainers of the base may push to it"] = True,
) -> Call:
    """Open a pull request."""
    fields = given(title=title, head=head, base=base, body=body)
    fields |= {"draft": draft, "maintainer_can_modify": maintainer_can_modify}
    return Call("POST", repo_path(owner, repo, "/pulls"), json=fields)


@github.writes(
    CHANGED,
    "pulls/update",
    idempotent=True,
    uses=({"title": "Fix the login"},),
    undo=restores("get_pull", title="title", body=lambda pull: pull["body"] or "", state="state", base="base.ref"),
)
def update_pull(
    owner: Owner,
    repo: Repo,
    pull_number: IssueNumber,
    title: Annotated[Name | None, "In one line, e.g. Fix the login on Safari"] = None,
    body: Annotated[Markdown | None, "Markdown; replaces the text, e.g. Closes #42"] = None,
    state: Literal["open", "closed"] | None = None,
    base: Annotated[Name | None, "Another branch to merge into, e.g. main"] = None,
) -> Call:
    """Change a pull request, close it or open it again."""
    fields = changes(title=title, body=body, state=state, base=base)
    return Call("PATCH", _pull_path(owner, repo, pull_number), json=fields)


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
    return Call("POST", _pull_path(owner, repo, pull_number, "/reviews"), json=fields)


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


def _review_path(owner: str, repo: str, number: int, review: int) -> str:
    return repo_path(owner, repo, "/pulls/{number}/reviews/{review}", number=number, review=review)


def _ask_again(change: ToolChange) -> Iterable[ToolCall]:
    before = _given(_asked(change.before, change))
    place = change.given("owner", "repo", "pull_number")
    return [ToolCall("request_reviewers", place | before)] if before else []


def _nobody(change: ToolChange) -> dict[str, Any]:
    return {kind: [] for kind in _given(change.arguments)}


def _given(people: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: people[kind] for kind in ("reviewers", "team_reviewers") if people.get(kind)}


def _asked(pull: Any, change: ToolChange) -> dict[str, Any]:
    """Return those of a change who are asked for a review of a pull request."""
    asked = {
        "reviewers": [person["login"].casefold() for person in pull["requested_reviewers"]],
        "team_reviewers": [team["slug"].casefold() for team in pull["requested_teams"]],
    }
    return {
        kind: [name for name in names if name.casefold() in asked[kind]]
        for kind, names in _given(change.arguments).items()
    }


def _take_back(change: ToolChange) -> Iterable[ToolCall]:
    before = _asked(change.before, change)
    new = {
        kind: [name for name in names if name not in before[kind]] for kind, names in _given(change.arguments).items()
    }
    place = change.given("owner", "repo", "pull_number")
    return [ToolCall("remove_reviewers", place | _given(new))] if _given(new) else []


@github.writes(
    REVIEWERS,
    "pulls/request-reviewers",
    idempotent=True,
    uses=({"reviewers": ["octocat"]},),
    undo=Undo(calls=_take_back, read="get_pull", state=_asked, after=lambda change: _given(change.arguments)),
)
def request_reviewers(
    owner: Owner,
    repo: Repo,
    pull_number: IssueNumber,
    reviewers: Annotated[list[Login] | None, "Logins, e.g. octocat"] = None,
    team_reviewers: Annotated[list[Name] | None, "Slugs of teams, e.g. platform"] = None,
) -> Call:
    """Ask people or teams to review a pull request."""
    people = changes(reviewers=reviewers, team_reviewers=team_reviewers)
    return Call("POST", _pull_path(owner, repo, pull_number, "/requested_reviewers"), json=people)


@github.writes(
    REVIEWERS,
    "pulls/remove-requested-reviewers",
    idempotent=True,
    uses=({"reviewers": ["octocat"]},),
    undo=Undo(calls=_ask_again, read="get_pull", state=_asked, after=_nobody),
)
def remove_reviewers(
    owner: Owner,
    repo: Repo,
    pull_number: IssueNumber,
    reviewers: Annotated[list[Login] | None, "Logins, e.g. octocat"] = None,
    team_reviewers: Annotated[list[Name] | None, "Slugs of teams, e.g. platform"] = None,
) -> Call:
    """Ask people or teams no more to review a pull request."""
    people = {"reviewers": [], **changes(reviewers=reviewers, team_reviewers=team_reviewers)}
    return Call("DELETE", _pull_path(owner, repo, pull_number, "/requested_reviewers"), json=people)


@github.destroys(
    shows("merged", "sha", "message"),
    "pulls/merge",
    undo=unless(
        lambda change: change.arguments["merge_method"] == "rebase",
        "a rebase has left several commits",
        undone_by("revert_commit(owner, repo, branch=before.base.ref, sha=answer.sha)", read="get_pull"),
    ),
)
def merge_pull(
    owner: Owner,
    repo: Repo,
    pull_number: IssueNumber,
    merge_method: Literal["merge", "squash", "rebase"] = "merge",
    commit_title: Annotated[str | None, "e.g. Fix the login (#42)"] = None,
    commit_message: Annotated[str | None, "e.g. Safari sends no cookie here."] = None,
    sha: Annotated[str | None, "Merge only if this is still the head, e.g. 6dcb09b5b578"] = None,
) -> Call:
    """Merge a pull request into its base branch. It stays merged; revert_commit takes its changes back."""
    fields = given(merge_method=merge_method, commit_title=commit_title, commit_message=commit_message, sha=sha)
    return Call("PUT", _pull_path(owner, repo, pull_number, "/merge"), json=fields)


def _pull_path(owner: str, repo: str, number: int, rest: str = "") -> str:
    return repo_path(owner, repo, f"/pulls/{{number}}{rest}", number=number)


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


@github.reads(DOWNLOADED, "pulls/get")
def get_pull_diff(owner: Owner, repo: Repo, pull_number: IssueNumber) -> Call:
    """Download the diff of a pull request as a file."""
    place = _pull_path(owner, repo, pull_number)
    return Call("GET", place, headers={"accept": "application/vnd.github.diff"}, download=True)


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
    return Call("GET", _pull_path(owner, repo, pull_number, "/comments"), query)


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
