"""GitHub: repositories and their files, issues, pull requests, Actions, releases, notifications.

Reference: https://docs.github.com/en/rest?apiVersion=2022-11-28
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.call import Call, CallResponse, Calls, changes, given, path
from mcpist.tools.module import Module, Scopes
from mcpist.tools.paging import Paging, by_link

_NEXT = re.compile(r'<([^>]*)>; rel="next"')


def _next_link(answer: CallResponse) -> str | None:
    found = _NEXT.search(answer.headers.get("link", ""))
    return found and found[1]


github = Module(
    "github",
    __doc__,
    api_version="2022-11-28",
    host="https://api.github.com",
    headers={"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"},
    paging=Paging(
        size="per_page",
        max_size=100,
        position_parameters=("page", "after"),
        next_page=by_link(_next_link, "page", "after"),
    ),
    # What is public can be read without any.
    scopes=Scopes(
        writes=("public_repo",),
        destroys=("public_repo",),
        implied_by={"public_repo": ("repo",), "notifications": ("repo",)},
    ),
    category="development",
    tags=("code", "git"),
)

REPO = ("full_name", "description", "language", "stargazers_count as stars", "updated_at as updated")
BRANCH = shows("ref as branch", "object.sha as sha")
COMMIT = ("sha", "commit.author.date as date", "commit.author.name as author", "commit.message as message")
FILE = ("filename", "status", "additions", "deletions")
WRITTEN = shows("content.path as path", "content.sha as sha", "commit.sha as commit", "content.html_url as url")
ISSUE = ("number", "title", "state", "user.login as author", "labels[*].name as labels", "updated_at as updated")
CHANGED = shows("number", "state", "html_url as url")
COMMENT = ("id", "user.login as author", "created_at as created", "body")
PULL = ("number", "title", "state", "draft", "user.login as author", "head.ref as head", "base.ref as base")
REVIEW = ("id", "user.login as author", "state", "submitted_at as submitted", "body")
RUN = ("id", "name", "status", "conclusion", "event", "head_branch as branch", "created_at as created")
RELEASE = ("id", "tag_name as tag", "name", "draft", "prerelease", "published_at as published")

Owner = Annotated[str, Field(pattern=r"^[\w.-]+$"), "The account that owns the repository, e.g. octocat"]
Repo = Annotated[str, Field(pattern=r"^[\w.-]+$"), "The repository's name without its owner, e.g. hello-world"]
Number = Annotated[int, Field(ge=1)]
Run = Annotated[Number, "The id that list_runs shows"]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Login = Annotated[str, Field(min_length=1)]
Markdown = Annotated[str, Field(max_length=65_536)]
Ref = Annotated[str, Field(min_length=1), "A branch, tag or commit, e.g. main"]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), "UTC, e.g. 2026-01-31T09:00:00Z"]
State = Literal["open", "closed", "all"]
Direction = Literal["asc", "desc"]


# -- the account and its repositories -----------------------------------------------------------------


@github.reads(shows("login", "name", "email", "company", "html_url as url"), "users/get-authenticated")
def get_me() -> Call:
    """Read the account that GitHub is connected with."""
    return Call("GET", "/user")


@github.lists(shows(*REPO, "private"), "repos/list-for-authenticated-user")
def list_repos(
    visibility: Literal["all", "public", "private"] = "all",
    affiliation: Annotated[
        list[Literal["owner", "collaborator", "organization_member"]] | None, "How you belong to it; all if left out"
    ] = None,
    sort: Literal["created", "updated", "pushed", "full_name"] = "full_name",
    direction: Direction | None = None,
) -> Call:
    """List the repositories that you can reach: your own and those of your organizations."""
    query = given(visibility=visibility, affiliation=_comma_separated(affiliation), sort=sort, direction=direction)
    return Call("GET", "/user/repos", query)


@github.reads(
    shows(
        *REPO,
        "default_branch",
        "visibility",
        "archived",
        "forks_count as forks",
        "open_issues_count as open_issues",
        "topics",
        "license.spdx_id as license",
        "html_url as url",
    ),
    "repos/get",
)
def get_repo(owner: Owner, repo: Repo) -> Call:
    """Read one repository: what it is, its default branch, its numbers."""
    return Call("GET", _repo_path(owner, repo))


@github.lists(shows(*REPO, "html_url as url", rows="items"), "search/repos")
def search_repos(
    q: Annotated[str, Field(min_length=1), "GitHub's search syntax, e.g. topic:mcp language:python stars:>100"],
    sort: Annotated[Literal["stars", "forks", "help-wanted-issues", "updated"] | None, "Best match if left out"] = None,
    order: Direction = "desc",
) -> Call:
    """Search all repositories on GitHub by words, topic, language, owner or stars."""
    return Call("GET", "/search/repositories", given(q=q, sort=sort, order=order))


# -- branches, commits and files ----------------------------------------------------------------------


@github.lists(shows("name", "commit.sha as sha", "protected"), "repos/list-branches")
def list_branches(
    owner: Owner, repo: Repo, protected: Annotated[bool | None, "Only protected, or only unprotected ones"] = None
) -> Call:
    """List a repository's branches."""
    return Call("GET", _repo_path(owner, repo, "/branches"), given(protected=protected))


@github.writes(BRANCH, "git/create-ref")
def create_branch(
    owner: Owner,
    repo: Repo,
    branch: Annotated[Name, "The new branch, e.g. fix/login"],
    source: Annotated[str | None, "The branch to start from; the default branch if left out, e.g. main"] = None,
) -> Calls:
    """Create a branch from the head of another."""
    if source is None:
        source = (yield Call("GET", _repo_path(owner, repo))).json["default_branch"]
    head = yield Call("GET", _repo_path(owner, repo, "/branches/{source}", source=source.split("/")))
    body = {"ref": f"refs/heads/{branch}", "sha": head.json["commit"]["sha"]}
    return (yield Call("POST", _repo_path(owner, repo, "/git/refs"), json=body)).json


@github.lists(shows(*COMMIT), "repos/list-commits")
def list_commits(
    owner: Owner,
    repo: Repo,
    sha: Annotated[str | None, "The branch, tag or commit to start from, e.g. main"] = None,
    path: Annotated[str | None, "Only commits that changed this file or folder, e.g. src/app.py"] = None,
    author: Annotated[str | None, "A login or an e-mail address, e.g. octocat"] = None,
    since: Time | None = None,
    until: Time | None = None,
) -> Call:
    """List the commits of a branch, the newest first."""
    query = given(sha=sha, path=path, author=author, since=since, until=until)
    return Call("GET", _repo_path(owner, repo, "/commits"), query)


@github.reads(
    shows(*COMMIT, "stats.total as lines", "files[*].filename as files", "html_url as url"), "repos/get-commit"
)
def get_commit(owner: Owner, repo: Repo, ref: Ref) -> Call:
    """Read one commit: its message and the files that it changed."""
    return Call("GET", _repo_path(owner, repo, "/commits/{ref}", ref=ref.split("/")))


@github.reads(
    shows("status", "ahead_by", "behind_by", "commits[*].commit.message as commits", "files[*].filename as files"),
    "repos/compare-commits-with-basehead",
)
def compare(
    owner: Owner, repo: Repo, base: Ref, head: Annotated[Ref, "A branch, tag or commit, e.g. fix/login"]
) -> Call:
    """Compare two branches, tags or commits: what head has that base has not."""
    return Call("GET", _repo_path(owner, repo, "/compare/{range}", range=f"{base}...{head}"))


@github.reads(
    shows("path", "sha", "size as size_bytes", "html_url as url", "content", text="content"), "repos/get-content"
)
def get_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[str, Field(min_length=1), "From the repository's root, e.g. docs/README.md"],
    ref: Annotated[str | None, "A branch, tag or commit; the default branch if left out, e.g. main"] = None,
) -> Calls:
    """Read a file as text, or list a folder. A file that is no text or is over 1 MB has no content."""
    # This media type answers with an object for a folder too, not with a bare list.
    kind = {"accept": "application/vnd.github.object+json"}
    answer = yield Call("GET", _file(owner, repo, path), given(ref=ref), headers=kind)
    return {**answer.json, "content": _text(answer.json)}


@github.reads(shows("path", "type", "size as size_bytes", rows="tree"), "git/get-tree")
def get_tree(
    owner: Owner,
    repo: Repo,
    tree_sha: Annotated[Name, "A tree's sha, or a branch, tag or commit, e.g. main"],
    recursive: Annotated[bool, "With the folders inside"] = True,
) -> Call:
    """List the files of a whole repository or folder at once."""
    query = {"recursive": "1"} if recursive else {}
    return Call("GET", _repo_path(owner, repo, "/git/trees/{tree_sha}", tree_sha=tree_sha.split("/")), query)


@github.lists(shows("path", "repository.full_name as repository", "html_url as url", rows="items"), "search/code")
def search_code(
    q: Annotated[str, Field(min_length=1), "GitHub's code search, e.g. parse_jsonl repo:octocat/app language:python"],
) -> Call:
    """Search the contents of files in all repositories that you can reach."""
    return Call("GET", "/search/code", {"q": q})


@github.writes(WRITTEN, "repos/create-or-update-file-contents")
def put_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[str, Field(min_length=1), "From the repository's root, e.g. docs/README.md"],
    content: Annotated[str, "The file's whole text, e.g. # Hello"],
    message: Annotated[Name, "The commit's message, e.g. Describe the setup"],
    branch: Annotated[str | None, "The default branch if left out, e.g. main"] = None,
    sha: Annotated[str | None, "The sha of the file it replaces; none for a new file, e.g. 3d21ec53a331"] = None,
) -> Call:
    """Create a file, or replace one, in a commit of its own."""
    body = given(message=message, content=b64encode(content.encode()).decode(), branch=branch, sha=sha)
    return Call("PUT", _file(owner, repo, path), json=body)


@github.destroys(shows("commit.sha as commit", "commit.html_url as url"), "repos/delete-file")
def delete_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[str, Field(min_length=1), "From the repository's root, e.g. docs/OLD.md"],
    sha: Annotated[Name, "The sha of the file, as get_file shows it, e.g. 3d21ec53a331"],
    message: Annotated[Name, "The commit's message, e.g. Remove the old page"],
    branch: Annotated[str | None, "The default branch if left out, e.g. main"] = None,
) -> Call:
    """Delete a file in a commit of its own."""
    return Call("DELETE", _file(owner, repo, path), json=given(message=message, sha=sha, branch=branch))


# -- issues -------------------------------------------------------------------------------------------


@github.lists(shows(*ISSUE, "pull_request.html_url as pull_request"), "issues/list-for-repo")
def list_issues(
    owner: Owner,
    repo: Repo,
    state: State = "open",
    labels: Annotated[list[Name] | None, "Only issues with all of these, e.g. bug, ui"] = None,
    assignee: Annotated[str | None, "A login, or none, or * for anybody, e.g. octocat"] = None,
    creator: Annotated[str | None, "A login, e.g. octocat"] = None,
    milestone: Annotated[str | None, "A milestone's number, or none, or *, e.g. 3"] = None,
    since: Annotated[Time | None, "Updated at or after this UTC time, e.g. 2026-01-31T09:00:00Z"] = None,
    sort: Literal["created", "updated", "comments"] = "created",
    direction: Direction = "desc",
) -> Call:
    """List a repository's issues. Pull requests count as issues here, and are marked."""
    query = given(state=state, labels=_comma_separated(labels), assignee=assignee, creator=creator, milestone=milestone)
    return Call("GET", _repo_path(owner, repo, "/issues"), query | given(since=since, sort=sort, direction=direction))


@github.reads(
    shows(
        *ISSUE,
        "assignees[*].login as assignees",
        "comments",
        "created_at as created",
        "html_url as url",
        "body",
        text="body",
    ),
    "issues/get",
)
def get_issue(owner: Owner, repo: Repo, issue_number: Number) -> Call:
    """Read one issue with its text."""
    return Call("GET", _issue(owner, repo, issue_number))


@github.lists(shows(*ISSUE, "html_url as url", rows="items"), "search/issues-and-pull-requests")
def search_issues(
    q: Annotated[str, Field(min_length=1), "GitHub's search syntax, e.g. repo:octocat/app is:issue is:open label:bug"],
    sort: Annotated[
        Literal["comments", "reactions", "interactions", "created", "updated"] | None, "Best match if left out"
    ] = None,
    order: Direction = "desc",
) -> Call:
    """Search issues (is:issue) or pull requests (is:pr) in all repositories that you can reach."""
    return Call("GET", "/search/issues", given(q=q, sort=sort, order=order))


@github.lists(shows(*COMMENT), "issues/list-comments")
def list_issue_comments(owner: Owner, repo: Repo, issue_number: Number, since: Time | None = None) -> Call:
    """List the comments of an issue or a pull request, the oldest first."""
    return Call("GET", _issue(owner, repo, issue_number, "/comments"), given(since=since))


@github.lists(shows("name", "description", "color"), "issues/list-labels-for-repo")
def list_labels(owner: Owner, repo: Repo) -> Call:
    """List the labels that a repository knows."""
    return Call("GET", _repo_path(owner, repo, "/labels"))


@github.writes(CHANGED, "issues/create")
def create_issue(
    owner: Owner,
    repo: Repo,
    title: Annotated[Name, "In one line, e.g. Login fails on Safari"],
    body: Annotated[Markdown | None, "Markdown, e.g. Steps: ..."] = None,
    labels: Annotated[list[Name] | None, "e.g. bug, ui"] = None,
    assignees: Annotated[list[Login] | None, "Logins, e.g. octocat"] = None,
    milestone: Annotated[Number | None, "A milestone's number"] = None,
) -> Call:
    """Open an issue."""
    fields = given(title=title, body=body, labels=labels, assignees=assignees, milestone=milestone)
    return Call("POST", _repo_path(owner, repo, "/issues"), json=fields)


@github.writes(CHANGED, "issues/update", idempotent=True, uses=({"state": "closed", "state_reason": "completed"},))
def update_issue(
    owner: Owner,
    repo: Repo,
    issue_number: Number,
    title: Annotated[Name | None, "In one line, e.g. Login fails on Safari"] = None,
    body: Annotated[Markdown | None, "Markdown; replaces the text, e.g. Steps: ..."] = None,
    state: Literal["open", "closed"] | None = None,
    state_reason: Annotated[
        Literal["completed", "not_planned", "duplicate", "reopened"] | None, "Why the state"
    ] = None,
    labels: Annotated[list[Name] | None, "Replaces all labels, e.g. bug, ui"] = None,
    assignees: Annotated[list[Login] | None, "Logins; replaces all, e.g. octocat"] = None,
    milestone: Annotated[Number | None, "A milestone's number"] = None,
) -> Call:
    """Change an issue, close it or open it again."""
    fields = changes(
        title=title,
        body=body,
        state=state,
        state_reason=state_reason,
        labels=labels,
        assignees=assignees,
        milestone=milestone,
    )
    return Call("PATCH", _issue(owner, repo, issue_number), json=fields)


@github.writes(shows("id", "html_url as url"), "issues/create-comment")
def add_issue_comment(
    owner: Owner, repo: Repo, issue_number: Number, body: Annotated[Markdown, "Markdown, e.g. Fixed in main."]
) -> Call:
    """Comment on an issue or a pull request."""
    return Call("POST", _issue(owner, repo, issue_number, "/comments"), json={"body": body})


@github.writes(shows("name"), "issues/add-labels", idempotent=True)
def add_labels(
    owner: Owner, repo: Repo, issue_number: Number, labels: Annotated[list[Name], Field(min_length=1), "e.g. bug, ui"]
) -> Call:
    """Put labels on an issue or a pull request, beside those that it has."""
    return Call("POST", _issue(owner, repo, issue_number, "/labels"), json={"labels": labels})


# -- pull requests ------------------------------------------------------------------------------------


@github.lists(shows(*PULL, "updated_at as updated"), "pulls/list")
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
    return Call("GET", _repo_path(owner, repo, "/pulls"), query)


@github.reads(
    shows(
        *PULL,
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
    ),
    "pulls/get",
)
def get_pull(owner: Owner, repo: Repo, pull_number: Number) -> Call:
    """Read one pull request with its text, and whether it can be merged."""
    return Call("GET", _pull(owner, repo, pull_number))


@github.lists(shows(*FILE, "patch"), "pulls/list-files")
def list_pull_files(owner: Owner, repo: Repo, pull_number: Number) -> Call:
    """List the files that a pull request changes, with their diffs."""
    return Call("GET", _pull(owner, repo, pull_number, "/files"))


@github.lists(shows(*REVIEW), "pulls/list-reviews")
def list_reviews(owner: Owner, repo: Repo, pull_number: Number) -> Call:
    """List the reviews of a pull request: who approved, who asked for changes."""
    return Call("GET", _pull(owner, repo, pull_number, "/reviews"))


@github.writes(CHANGED, "pulls/create")
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
    return Call("POST", _repo_path(owner, repo, "/pulls"), json=fields)


@github.writes(CHANGED, "pulls/update", idempotent=True, uses=({"title": "Fix the login"},))
def update_pull(
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    title: Annotated[Name | None, "In one line, e.g. Fix the login on Safari"] = None,
    body: Annotated[Markdown | None, "Markdown; replaces the text, e.g. Closes #42"] = None,
    state: Literal["open", "closed"] | None = None,
    base: Annotated[Name | None, "Another branch to merge into, e.g. main"] = None,
) -> Call:
    """Change a pull request, close it or open it again."""
    return Call("PATCH", _pull(owner, repo, pull_number), json=changes(title=title, body=body, state=state, base=base))


@github.writes(shows("id", "state", "html_url as url"), "pulls/create-review")
def create_review(
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    event: Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"],
    body: Annotated[Markdown | None, "Markdown; needed unless you approve, e.g. Looks good."] = None,
    comments: Annotated[
        list[dict[str, Any]] | None, 'On lines of files, e.g. [{"path": "app.py", "line": 3, "body": "Why?"}]'
    ] = None,
    commit_id: Annotated[str | None, "The commit that you looked at; the newest if left out, e.g. 6dcb09b5b578"] = None,
) -> Call:
    """Review a pull request: approve it, ask for changes, or comment."""
    fields = given(event=event, body=body, comments=comments, commit_id=commit_id)
    return Call("POST", _pull(owner, repo, pull_number, "/reviews"), json=fields)


@github.writes(
    shows("number", "requested_reviewers[*].login as reviewers", "html_url as url"),
    "pulls/request-reviewers",
    idempotent=True,
    uses=({"reviewers": ["octocat"]},),
)
def request_reviewers(
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    reviewers: Annotated[list[Login] | None, "Logins, e.g. octocat"] = None,
    team_reviewers: Annotated[list[Name] | None, "Slugs of teams, e.g. platform"] = None,
) -> Call:
    """Ask people or teams to review a pull request."""
    people = changes(reviewers=reviewers, team_reviewers=team_reviewers)
    return Call("POST", _pull(owner, repo, pull_number, "/requested_reviewers"), json=people)


@github.destroys(shows("merged", "sha", "message"), "pulls/merge")
def merge_pull(
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    merge_method: Literal["merge", "squash", "rebase"] = "merge",
    commit_title: Annotated[str | None, "e.g. Fix the login (#42)"] = None,
    commit_message: Annotated[str | None, "e.g. Safari sends no cookie here."] = None,
    sha: Annotated[str | None, "Merge only if this is still the head, e.g. 6dcb09b5b578"] = None,
) -> Call:
    """Merge a pull request into its base branch. This cannot be undone."""
    fields = given(merge_method=merge_method, commit_title=commit_title, commit_message=commit_message, sha=sha)
    return Call("PUT", _pull(owner, repo, pull_number, "/merge"), json=fields)


# -- Actions ------------------------------------------------------------------------------------------


@github.lists(shows("id", "name", "path", "state", rows="workflows"), "actions/list-repo-workflows")
def list_workflows(owner: Owner, repo: Repo) -> Call:
    """List a repository's workflows of GitHub Actions."""
    return Call("GET", _repo_path(owner, repo, "/actions/workflows"))


@github.lists(shows(*RUN, "actor.login as actor", rows="workflow_runs"), "actions/list-workflow-runs-for-repo")
def list_runs(
    owner: Owner,
    repo: Repo,
    branch: Annotated[str | None, "e.g. main"] = None,
    status: Annotated[
        Literal["queued", "in_progress", "completed", "success", "failure", "cancelled", "timed_out"] | None,
        "A state, or how it ended",
    ] = None,
    event: Annotated[str | None, "What started it, e.g. push"] = None,
    actor: Annotated[str | None, "A login, e.g. octocat"] = None,
    created: Annotated[str | None, "A moment, or a range such as >=2026-01-31, e.g. 2026-01-31T09:00:00Z"] = None,
) -> Call:
    """List the runs of workflows (CI builds), the newest first."""
    query = given(branch=branch, status=status, event=event, actor=actor, created=created)
    return Call("GET", _repo_path(owner, repo, "/actions/runs"), query)


@github.reads(
    shows(*RUN, "run_attempt as attempt", "head_sha as sha", "display_title as title", "html_url as url"),
    "actions/get-workflow-run",
)
def get_run(owner: Owner, repo: Repo, run_id: Run) -> Call:
    """Read one run of a workflow: whether it is done and how it ended."""
    return Call("GET", _run(owner, repo, run_id))


@github.lists(
    shows("id", "name", "status", "conclusion", "started_at as started", "completed_at as completed", rows="jobs"),
    "actions/list-jobs-for-workflow-run",
)
def list_jobs(owner: Owner, repo: Repo, run_id: Run, filter: Literal["latest", "all"] = "latest") -> Call:  # noqa: A002
    """List the jobs of a run: which failed, which passed."""
    return Call("GET", _run(owner, repo, run_id, "/jobs"), {"filter": filter})


@github.writes(DONE, "actions/re-run-workflow")
def rerun(owner: Owner, repo: Repo, run_id: Run) -> Call:
    """Run a workflow's run again."""
    return Call("POST", _run(owner, repo, run_id, "/rerun"))


@github.writes(DONE, "actions/create-workflow-dispatch")
def dispatch_workflow(
    owner: Owner,
    repo: Repo,
    workflow_id: Annotated[Name, "Its id or its file, e.g. deploy.yml"],
    ref: Ref,
    inputs: Annotated[dict[str, Any] | None, 'As the workflow declares them, e.g. {"environment": "staging"}'] = None,
) -> Call:
    """Start a workflow by hand."""
    place = _repo_path(owner, repo, "/actions/workflows/{workflow_id}/dispatches", workflow_id=workflow_id)
    return Call("POST", place, json=given(ref=ref, inputs=inputs))


# -- releases -----------------------------------------------------------------------------------------


@github.lists(shows(*RELEASE), "repos/list-releases")
def list_releases(owner: Owner, repo: Repo) -> Call:
    """List a repository's releases, the newest first."""
    return Call("GET", _repo_path(owner, repo, "/releases"))


@github.reads(
    shows(*RELEASE, "author.login as author", "assets[*].name as assets", "html_url as url", "body", text="body"),
    "repos/get-release",
)
def get_release(
    owner: Owner, repo: Repo, release_id: Annotated[Number | None, "The latest release if left out"] = None
) -> Call:
    """Read a release with its notes: the latest, or one by its id."""
    return Call("GET", _repo_path(owner, repo, "/releases/{release}", release=release_id or "latest"))


@github.writes(shows("id", "tag_name as tag", "draft", "html_url as url"), "repos/create-release")
def create_release(
    owner: Owner,
    repo: Repo,
    tag_name: Annotated[Name, "e.g. v1.2.0"],
    name: Annotated[Name | None, "Its title, e.g. 1.2: faster search"] = None,
    body: Annotated[Markdown | None, "Its notes in Markdown, e.g. - Search is faster"] = None,
    target_commitish: Annotated[str | None, "Where a new tag is put; the default branch if left out, e.g. main"] = None,
    draft: Annotated[bool, "Not published yet"] = False,
    prerelease: Annotated[bool, "Not ready for everybody"] = False,
    generate_release_notes: Annotated[bool, "Let GitHub write name and notes"] = False,
) -> Call:
    """Publish a release, or draft one."""
    fields = given(tag_name=tag_name, name=name, body=body, target_commitish=target_commitish)
    fields |= {"draft": draft, "prerelease": prerelease, "generate_release_notes": generate_release_notes}
    return Call("POST", _repo_path(owner, repo, "/releases"), json=fields)


# -- notifications ------------------------------------------------------------------------------------


@github.lists(
    shows(
        "id",
        "reason",
        "subject.type as type",
        "subject.title as title",
        "repository.full_name as repository",
        "unread",
        "updated_at as updated",
    ),
    "activity/list-notifications-for-authenticated-user",
    scopes=("notifications",),
)
def list_notifications(
    all: Annotated[bool, "Also those that you have read"] = False,  # noqa: A002
    participating: Annotated[bool, "Only where you take part or are mentioned"] = False,
    since: Time | None = None,
    before: Time | None = None,
) -> Call:
    """List your notifications, the newest first."""
    return Call("GET", "/notifications", given(all=all, participating=participating, since=since, before=before))


@github.writes(DONE, "activity/mark-thread-as-read", scopes=("notifications",), idempotent=True)
def mark_notification_read(thread_id: Annotated[Number, "The id that list_notifications shows"]) -> Call:
    """Mark a notification as read."""
    return Call("PATCH", path("/notifications/threads/{thread_id}", thread_id=thread_id))


# -- resources and prompts ----------------------------------------------------------------------------


@github.resource("github://{owner}/{repo}/files/{+path}", get_file)
def file(owner: str, repo: str, path: str) -> Mapping[str, Any]:
    """A file of a repository's default branch."""
    return {"owner": owner, "repo": repo, "path": path}


@github.resource("github://{owner}/{repo}/issues/{issue_number}", get_issue)
def issue(owner: str, repo: str, issue_number: str) -> Mapping[str, Any]:
    """An issue with its text."""
    return {"owner": owner, "repo": repo, "issue_number": issue_number}


@github.prompt(list_issues, list_labels, list_issue_comments)
def triage_issues(owner: Owner, repo: Repo) -> str:
    """Sort a repository's open issues by what should happen next."""
    return (
        f"Triage the open issues of {owner}/{repo} on GitHub. In one batch, list the open issues (github.list_issues) "
        "and the labels that the repository knows (github.list_labels); read the comments of those that are unclear "
        "(github.list_issue_comments). Group the issues into: fix now, plan, needs an answer, duplicate, close. Say "
        "why in one line each, and propose labels. Change nothing before I agree."
    )


@github.prompt(get_pull, list_pull_files, list_reviews)
def review_pull(owner: Owner, repo: Repo, pull_number: Annotated[Number, "The pull request's number"]) -> str:
    """Review a pull request."""
    return (
        f"Review pull request {pull_number} of {owner}/{repo} on GitHub. In one batch, read it (github.get_pull), its "
        "files with their diffs (github.list_pull_files) and the reviews so far (github.list_reviews). Say what it "
        "does, what could break, what is missing, each with file and line. Propose a verdict; post nothing before I "
        "agree."
    )


github.completes("repo", list_repos, "full_name")


# -- how GitHub speaks --------------------------------------------------------------------------------


def _repo_path(owner: str, repo: str, rest: str = "", **parts: str | int | list[str]) -> str:
    """A path under one repository."""
    return path(f"/repos/{{owner}}/{{repo}}{rest}", owner=owner, repo=repo, **parts)


def _file(owner: str, repo: str, place: str) -> str:
    return _repo_path(owner, repo, "/contents/{place}", place=place.strip("/").split("/"))


def _issue(owner: str, repo: str, number: int, rest: str = "") -> str:
    return _repo_path(owner, repo, f"/issues/{{number}}{rest}", number=number)


def _pull(owner: str, repo: str, number: int, rest: str = "") -> str:
    return _repo_path(owner, repo, f"/pulls/{{number}}{rest}", number=number)


def _run(owner: str, repo: str, run: int, rest: str = "") -> str:
    return _repo_path(owner, repo, f"/actions/runs/{{run}}{rest}", run=run)


def _text(file: dict[str, Any]) -> str | None:
    """A file's text, or a folder's names; None where there is no text."""
    if file["type"] == "dir":
        return "\n".join(f"- {entry['name']}{'/' if entry['type'] == 'dir' else ''}" for entry in file["entries"])
    try:
        return b64decode(file["content"]).decode() if file.get("encoding") == "base64" else None
    except ValueError:
        return None


def _comma_separated(values: Sequence[str] | None) -> str | None:
    return ",".join(values) if values else None
