"""Issues, their comments and labels, and the sub-issues that they are divided into."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, Calls, changes, comma_separated, given, path_template
from mcpist.tools.declare.pasted import address_reader, from_url
from mcpist.tools.declare.undo import ToolChange, adds_each, restores, toggles, undone_by
from mcpist_services.github.module import (
    ADDRESSES,
    CHANGED,
    WEBSITE,
    Direction,
    IssueNumber,
    Login,
    Markdown,
    Name,
    Number,
    Owner,
    Query,
    Repo,
    State,
    Time,
    github,
    link_paging,
    repo_path,
    repository_of,
)

_comment_path = path_template("/repos/{owner}/{repo}/issues/comments/{comment}")
_issue_path = path_template("/repos/{owner}/{repo}/issues/{number}")
ISSUE = ("number", "title", "state", "user.login as author", "labels[*].name as labels", "updated_at as updated")
LISTED = (*ISSUE, "created_at as created", "html_url as url")
FOUND = shows("owner", "repo", *LISTED, rows="items")
COMMENT = ("id", "user.login as author", "created_at as created", "body")
ISSUE_DETAILS = shows(
    *ISSUE,
    "assignees[*].login as assignees",
    "comments",
    "created_at as created",
    "html_url as url",
    "body",
    text="body",
)

UPDATES: tuple[dict[str, Any], ...] = ({"state": "closed", "state_reason": "completed"}, {"milestone": "none"})
IN_REPOSITORIES = link_paging(lambda issue, _: repository_of(issue.get("repository_url")))

IssueComment = Annotated[
    Number, from_url(ADDRESSES, "comment_id__issue"), "The id that list_issue_comments shows, e.g. 1512085950"
]
Milestone = Annotated[Number, from_url(ADDRESSES, "milestone"), "A milestone's number, e.g. 3"]
SearchOrder = Annotated[
    Literal["comments", "reactions", "interactions", "created", "updated"], "Best match if left out"
]
StateReason = Annotated[Literal["completed", "not_planned", "duplicate", "reopened"], "Why it was closed or reopened"]


@github.lists(shows(*LISTED, "pull_request.html_url as pull_request"), "issues/list-for-repo")
def list_issues(
    owner: Owner,
    repo: Repo,
    state: State = "open",
    labels: Annotated[list[Name] | None, "Only issues with all of these, e.g. bug, ui"] = None,
    assignee: Annotated[str | None, "A login, or none, or * for anybody, e.g. octocat"] = None,
    creator: Annotated[str | None, "A login, e.g. octocat"] = None,
    milestone: Annotated[str | None, "A milestone's number, or none, or *, e.g. 3"] = None,
    since: Annotated[Time | None, "Updated at or after this, e.g. 2026-01-31T09:00:00Z"] = None,
    sort: Literal["created", "updated", "comments"] = "created",
    direction: Direction = "desc",
) -> Call:
    """List a repository's issues. Pull requests count as issues here, and are marked."""
    query = given(state=state, labels=comma_separated(labels), assignee=assignee, creator=creator, milestone=milestone)
    return Call("GET", repo_path(owner, repo, "/issues"), query | given(since=since, sort=sort, direction=direction))


@github.reads(ISSUE_DETAILS, "issues/get")
def get_issue(owner: Owner, repo: Repo, issue_number: IssueNumber) -> Call:
    """Read one issue with its text."""
    return Call("GET", _issue_path(owner, repo, issue_number))


@github.lists(FOUND, "search/issues-and-pull-requests", paging=IN_REPOSITORIES)
def search_issues(
    q: Annotated[
        Query, "GitHub's search syntax, also updated:<now-90d, e.g. repo:octocat/app is:issue is:open label:bug"
    ],
    sort: SearchOrder | None = None,
    order: Direction = "desc",
) -> Call:
    """Search issues (is:issue) or pull requests (is:pr) in all repositories that you can reach."""
    return Call("GET", "/search/issues", given(q=q, sort=sort, order=order))


@github.lists(shows(*COMMENT, "html_url as url"), "issues/list-comments")
def list_issue_comments(owner: Owner, repo: Repo, issue_number: IssueNumber, since: Time | None = None) -> Call:
    """List the comments of an issue or a pull request, the oldest first."""
    return Call("GET", _issue_path(owner, repo, issue_number, "/comments"), given(since=since))


@github.reads(shows(*COMMENT, "html_url as url"), "issues/get-comment")
def get_issue_comment(owner: Owner, repo: Repo, comment_id: IssueComment) -> Call:
    """Read one comment on an issue or a pull request."""
    return Call("GET", _comment_path(owner, repo, comment_id))


@github.lists(shows("name", "description", "color"), "issues/list-labels-for-repo")
def list_labels(owner: Owner, repo: Repo) -> Call:
    """List the labels of a repository."""
    return Call("GET", repo_path(owner, repo, "/labels"))


def _milestone(issue: dict[str, Any]) -> int | str:
    return issue["milestone"]["number"] if issue["milestone"] else "none"


@github.writes(
    CHANGED,
    "issues/create",
    undo=undone_by(
        'update_issue(owner, repo, issue_number=answer.number, state="closed", state_reason="not_planned")',
        read="get_issue",
        creates=True,
        fields="title body state comments",
    ),
    tells={"assignees": "arguments.assignees"},
)
def create_issue(
    owner: Owner,
    repo: Repo,
    title: Annotated[Name, "In one line, e.g. Login fails on Safari"],
    body: Annotated[Markdown | None, "Markdown, e.g. Steps: ..."] = None,
    labels: Annotated[list[Name] | None, "e.g. bug, ui"] = None,
    assignees: Annotated[list[Login] | None, "Logins, e.g. octocat"] = None,
    milestone: Milestone | None = None,
) -> Call:
    """Open an issue."""
    fields = given(title=title, body=body, labels=labels, assignees=assignees, milestone=milestone)
    return Call("POST", repo_path(owner, repo, "/issues"), json=fields)


@github.writes(
    CHANGED,
    "issues/update",
    idempotent=True,
    uses=UPDATES,
    undo=restores(
        "get_issue",
        title="title",
        body=lambda issue: issue["body"] or "",
        state="state",
        state_reason=lambda issue: issue["state_reason"] or "reopened",  # an issue that was never closed has none
        labels="labels[*].name",
        assignees="assignees[*].login",
        milestone=_milestone,
    ),
)
def update_issue(
    owner: Owner,
    repo: Repo,
    issue_number: IssueNumber,
    title: Annotated[Name | None, "In one line, e.g. Login fails on Safari"] = None,
    body: Annotated[Markdown | None, "Markdown; replaces the text, e.g. Steps: ..."] = None,
    state: Literal["open", "closed"] | None = None,
    state_reason: StateReason | None = None,
    labels: Annotated[list[Name] | None, "Replaces all labels, e.g. bug, ui"] = None,
    assignees: Annotated[list[Login] | None, "Logins; replaces all, e.g. octocat"] = None,
    milestone: Annotated[
        Milestone | Literal["none"] | None, "A milestone's number, or none to clear it, e.g. 3"
    ] = None,
) -> Call:
    """Change an issue, close it or open it again."""
    content = {"title": title, "body": body, "state": state, "state_reason": state_reason}
    fields = changes(**content, labels=labels, assignees=assignees, milestone=milestone)
    fields |= {"milestone": None} if milestone == "none" else {}
    return Call("PATCH", _issue_path(owner, repo, issue_number), json=fields)


@github.writes(
    shows("id", "html_url as url"),
    "issues/create-comment",
    undo=undone_by(
        "delete_issue_comment(owner, repo, comment_id=answer.id)", read="get_issue_comment", creates=True, fields="body"
    ),
    tells={"watchers": lambda _: True},
)
def add_issue_comment(
    owner: Owner, repo: Repo, issue_number: IssueNumber, body: Annotated[Markdown, "Markdown, e.g. Fixed in main."]
) -> Call:
    """Comment on an issue or a pull request."""
    return Call("POST", _issue_path(owner, repo, issue_number, "/comments"), json={"body": body})


@github.writes(
    shows("id", "html_url as url"),
    "issues/update-comment",
    idempotent=True,
    undo=restores("get_issue_comment", body="body"),
)
def update_issue_comment(
    owner: Owner,
    repo: Repo,
    comment_id: IssueComment,
    body: Annotated[Markdown, "Markdown; replaces the text, e.g. Fixed in 1.2."],
) -> Call:
    """Change a comment on an issue or a pull request."""
    return Call("PATCH", _comment_path(owner, repo, comment_id), json={"body": body})


@github.destroys(DONE, "issues/delete-comment", idempotent=True, irreversible="GitHub keeps no deleted comment")
def delete_issue_comment(owner: Owner, repo: Repo, comment_id: IssueComment) -> Call:
    """Delete a comment on an issue or a pull request."""
    return Call("DELETE", _comment_path(owner, repo, comment_id))


def _labels(issue: dict[str, Any]) -> list[str]:
    return [label["name"] for label in issue["labels"]]


@github.writes(
    shows("name"),
    "issues/remove-label",
    idempotent=True,
    undo=toggles(
        "add_labels(owner, repo, issue_number)",
        read="get_issue",
        has=lambda issue, change: change.arguments["label"] in _labels(issue),
        adds=False,
        labels=lambda change: [change.arguments["label"]],
    ),
)
def remove_label(owner: Owner, repo: Repo, issue_number: IssueNumber, label: Annotated[Name, "e.g. bug"]) -> Call:
    """Take a label off an issue or a pull request; the label itself stays."""
    place = repo_path(owner, repo, "/issues/{number}/labels/{label}", number=issue_number, label=label)
    return Call("DELETE", place)


@github.writes(
    shows("name"),
    "issues/add-labels",
    idempotent=True,
    undo=adds_each(
        "remove_label(owner, repo, issue_number)", read="get_issue", argument="labels", item="label", held=_labels
    ),
)
def add_labels(
    owner: Owner,
    repo: Repo,
    issue_number: IssueNumber,
    labels: Annotated[list[Name], Field(min_length=1), "e.g. bug, ui"],
) -> Call:
    """Put labels on an issue or a pull request, in addition to those that it has."""
    return Call("POST", _issue_path(owner, repo, issue_number, "/labels"), json={"labels": labels})


SUB_ISSUES = shows(
    "owner",
    "repo",
    "number",
    "title",
    "state",
    "assignees[*].login as assignees",
    "created_at as created",
    "html_url as url",
)

PARTS = address_reader(rf"{WEBSITE}(?P<owner>[\w.-]+)/(?P<sub_repo>[\w.-]+)/issues/(?P<sub_issue>\d+)")
SubIssue = Annotated[
    Number,
    from_url(PARTS, "sub_issue", r"#(?P<sub_issue>\d+)", fills=("sub_repo",)),
    "The number of the issue that is a part",
]
SubRepo = Annotated[
    str,
    Field(pattern=r"^[\w.-]+$"),
    from_url(PARTS, "sub_repo", r"(?P<owner>[\w.-]+)/(?P<sub_repo>[\w.-]+)"),
    "The part's repository, of the same owner; the same if left out, e.g. hello-docs",
]


@github.lists(SUB_ISSUES, "issues/list-sub-issues", paging=IN_REPOSITORIES)
def list_sub_issues(owner: Owner, repo: Repo, issue_number: IssueNumber) -> Call:
    """List the sub-issues of an issue."""
    return Call("GET", _issue_path(owner, repo, issue_number, "/sub_issues"))


def _is_part(parts: Any, change: ToolChange) -> bool:
    """Whether an issue is among the sub-issues; those of another repository tell theirs by their address."""
    repo = change.arguments["sub_repo"] or change.arguments["repo"]
    place = f"/{change.arguments['owner']}/{repo}/".casefold()
    return any(
        each["number"] == change.arguments["sub_issue"] and f"{each['repository_url']}/".casefold().endswith(place)
        for each in parts
    )


PART = "owner, repo, issue_number, sub_issue, sub_repo"


@github.writes(
    CHANGED,
    "issues/add-sub-issue",
    undo=toggles(f"remove_sub_issue({PART})", read="list_sub_issues", has=_is_part, adds=True),
)
def add_sub_issue(
    owner: Owner, repo: Repo, issue_number: IssueNumber, sub_issue: SubIssue, sub_repo: SubRepo | None = None
) -> Calls:
    """Make an issue a sub-issue of another."""
    part = yield from _id_of(owner, sub_repo or repo, sub_issue)
    return Call("POST", _issue_path(owner, repo, issue_number, "/sub_issues"), json={"sub_issue_id": part})


@github.writes(
    CHANGED,
    "issues/remove-sub-issue",
    undo=toggles(f"add_sub_issue({PART})", read="list_sub_issues", has=_is_part, adds=False),
)
def remove_sub_issue(
    owner: Owner, repo: Repo, issue_number: IssueNumber, sub_issue: SubIssue, sub_repo: SubRepo | None = None
) -> Calls:
    """Let an issue be no sub-issue of another any more; both issues stay."""
    part = yield from _id_of(owner, sub_repo or repo, sub_issue)
    return Call("DELETE", _issue_path(owner, repo, issue_number, "/sub_issue"), json={"sub_issue_id": part})


def _id_of(owner: str, repo: str, number: int) -> Calls:
    return (yield Call("GET", _issue_path(owner, repo, number))).json["id"]
