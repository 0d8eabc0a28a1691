"""Pull requests: their files and diffs, reviews, and comments on lines."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from mcpist.render.shows import DOWNLOADED, shows
from mcpist.tools.declare.call import Call, changes, given, path_template
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, restores, undone_by, unless
from mcpist_services.github.module import (
    CHANGED,
    Direction,
    IssueNumber,
    Login,
    Markdown,
    Name,
    Owner,
    Repo,
    State,
    github,
    repo_path,
)

pull_path = path_template("/repos/{owner}/{repo}/pulls/{number}")
FILE = ("filename", "status", "additions", "deletions")
PULL = ("number", "title", "state", "draft", "user.login as author", "head.ref as head", "base.ref as base")
REVIEWERS = shows("number", "requested_reviewers[*].login as reviewers", "html_url as url")
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
    return Call("GET", pull_path(owner, repo, pull_number))


@github.lists(shows(*FILE, "patch", "blob_url as url"), "pulls/list-files")
def list_pull_files(owner: Owner, repo: Repo, pull_number: IssueNumber) -> Call:
    """List the files that a pull request changes, with their diffs."""
    return Call("GET", pull_path(owner, repo, pull_number, "/files"))


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
    return Call("PATCH", pull_path(owner, repo, pull_number), json=fields)


def _ask_again(change: ToolChange) -> Iterable[ToolCall]:
    return _calls("request_reviewers", _given(_asked(change.before, change)), change)


def _calls(tool: str, people: Mapping[str, Any], change: ToolChange) -> Iterable[ToolCall]:
    return [ToolCall(tool, {**change.given("owner", "repo", "pull_number"), **people})] if people else []


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
    return _calls("remove_reviewers", _given(new), change)


@github.writes(
    REVIEWERS,
    "pulls/request-reviewers",
    idempotent=True,
    uses=({"reviewers": ["octocat"]},),
    undo=Undo(calls=_take_back, read="get_pull", state=_asked, after=lambda change: _given(change.arguments)),
    tells={"reviewers": "arguments.reviewers", "teams": "arguments.team_reviewers"},
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
    return Call("POST", pull_path(owner, repo, pull_number, "/requested_reviewers"), json=people)


@github.writes(
    REVIEWERS,
    "pulls/remove-requested-reviewers",
    idempotent=True,
    uses=({"reviewers": ["octocat"]},),
    undo=Undo(
        calls=_ask_again,
        read="get_pull",
        state=_asked,
        after=lambda change: {kind: [] for kind in _given(change.arguments)},
    ),
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
    return Call("DELETE", pull_path(owner, repo, pull_number, "/requested_reviewers"), json=people)


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
    return Call("PUT", pull_path(owner, repo, pull_number, "/merge"), json=fields)


@github.reads(DOWNLOADED, "pulls/get")
def get_pull_diff(owner: Owner, repo: Repo, pull_number: IssueNumber) -> Call:
    """Download the diff of a pull request as a file."""
    place = pull_path(owner, repo, pull_number)
    return Call("GET", place, headers={"accept": "application/vnd.github.diff"}, download=True)
