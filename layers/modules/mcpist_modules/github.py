"""GitHub: repositories, their files and commits, issues and pull requests.

Reference: https://docs.github.com/en/rest?apiVersion=2022-11-28
"""

import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.call import Answer, Call, Calls, given, path
from mcpist.tools.module import Module

github = Module(
    "github",
    __doc__,
    api_version="2022-11-28",
    host="https://api.github.com",
    headers={"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"},
)

ISSUE = ("number", "title", "state", "user.login as author", "labels[*].name as labels", "updated_at as updated")
PULL = ("number", "title", "state", "draft", "user.login as author", "head.ref as head", "base.ref as base")
REPO = ("full_name", "description", "language", "stargazers_count as stars", "updated_at as updated")

Owner = Annotated[str, Field(pattern=r"^[\w.-]+$", description="The account of the repository, e.g. octocat")]
Repo = Annotated[str, Field(pattern=r"^[\w.-]+$", description="The repository's name without its owner")]
Number = Annotated[int, Field(ge=1)]
Limit = Annotated[int, Field(ge=1, le=500)]
State = Literal["open", "closed", "all"]
Direction = Literal["asc", "desc"]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", description="UTC, e.g. 2026-01-31T09:00:00Z")]

PAGE_ITEMS = 100
MOST_PAGES = 10

_NEXT = re.compile(r'<([^>]*)>; rel="next"')


# -- the account and its repositories -----------------------------------------------------------------


@github.reads(shows("login", "name", "email", "company", "html_url as url"))
def get_me() -> Call:
    """Read the account that GitHub is connected with."""
    return Call("GET", "/user")


@github.reads(shows(*REPO, "private"))
def list_repos(
    visibility: Literal["all", "public", "private"] = "all",
    affiliation: Annotated[
        list[Literal["owner", "collaborator", "organization_member"]] | None, "How you belong to it; all if left out"
    ] = None,
    sort: Literal["created", "updated", "pushed", "full_name"] = "full_name",
    direction: Direction | None = None,
    limit: Limit = 50,
) -> Calls:
    """List the repositories that you can reach: your own and those of your organizations."""
    query = given(visibility=visibility, affiliation=_commas(affiliation), sort=sort, direction=direction)
    return _pages(Call("GET", "/user/repos", query), limit)


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
    )
)
def get_repo(owner: Owner, repo: Repo) -> Call:
    """Read one repository: what it is, its default branch, its numbers."""
    return Call("GET", _under(owner, repo))


# -- files and commits --------------------------------------------------------------------------------


@github.reads(shows("path", "sha", "size as size_bytes", "html_url as url", "content", text="content"))
def get_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[str, Field(min_length=1), "From the repository's root, e.g. docs/README.md"],
    ref: Annotated[str | None, "A branch, tag or commit; the default branch if left out"] = None,
) -> Calls:
    """Read a file as text, or list a folder. A file that is no text or is over 1 MB has no content."""
    place = _under(owner, repo, "/contents/{file}", file=path.strip("/").split("/"))
    # This media type answers with an object for a folder too, not with a bare list.
    answer = yield Call("GET", place, given(ref=ref), headers={"accept": "application/vnd.github.object+json"})
    return {**answer.json, "content": _text(answer.json)}


@github.reads(shows("sha", "commit.author.date as date", "commit.author.name as author", "commit.message as message"))
def list_commits(
    owner: Owner,
    repo: Repo,
    sha: Annotated[str | None, "The branch, tag or commit to start from; the default branch if left out"] = None,
    path: Annotated[str | None, "Only commits that changed this file or folder"] = None,
    author: Annotated[str | None, "A GitHub login or an e-mail address"] = None,
    since: Time | None = None,
    until: Time | None = None,
    limit: Limit = 50,
) -> Calls:
    """List the commits of a branch, the newest first."""
    query = given(sha=sha, path=path, author=author, since=since, until=until)
    return _pages(Call("GET", _under(owner, repo, "/commits"), query), limit)


# -- issues -------------------------------------------------------------------------------------------


@github.reads(shows(*ISSUE, "pull_request.html_url as pull_request"))
def list_issues(
    owner: Owner,
    repo: Repo,
    state: State = "open",
    labels: Annotated[list[str] | None, "Only issues with all of these"] = None,
    assignee: Annotated[str | None, "A login, or none, or * for anybody"] = None,
    creator: Annotated[str | None, "A login"] = None,
    milestone: Annotated[str | None, "A milestone's number, or none, or *"] = None,
    since: Annotated[Time | None, "Updated at or after this UTC time, e.g. 2026-01-31T09:00:00Z"] = None,
    sort: Literal["created", "updated", "comments"] = "created",
    direction: Direction = "desc",
    limit: Limit = 50,
) -> Calls:
    """List a repository's issues. Pull requests count as issues here, and are marked."""
    query = given(state=state, labels=_commas(labels), assignee=assignee, creator=creator, milestone=milestone)
    query |= given(since=since, sort=sort, direction=direction)
    return _pages(Call("GET", _under(owner, repo, "/issues"), query), limit)


@github.reads(
    shows(
        *ISSUE,
        "assignees[*].login as assignees",
        "comments",
        "created_at as created",
        "html_url as url",
        "body",
        text="body",
    )
)
def get_issue(owner: Owner, repo: Repo, issue_number: Number) -> Call:
    """Read one issue with its text."""
    return Call("GET", _under(owner, repo, "/issues/{issue_number}", issue_number=issue_number))


@github.reads(shows(*ISSUE, "html_url as url", rows="items"))
def search_issues(
    q: Annotated[
        str, Field(min_length=1), "GitHub's search syntax, e.g. repo:octo/app is:issue is:open label:bug crash in:title"
    ],
    sort: Annotated[
        Literal["comments", "reactions", "interactions", "created", "updated"] | None, "Best match if left out"
    ] = None,
    order: Direction = "desc",
    limit: Limit = 50,
) -> Calls:
    """Search issues (is:issue) or pull requests (is:pr) in all repositories that you can reach."""
    return _pages(Call("GET", "/search/issues", given(q=q, sort=sort, order=order)), limit, rows="items")


# -- pull requests ------------------------------------------------------------------------------------


@github.reads(shows(*PULL, "updated_at as updated"))
def list_pulls(
    owner: Owner,
    repo: Repo,
    state: State = "open",
    head: Annotated[str | None, "Only from this branch, as owner:branch"] = None,
    base: Annotated[str | None, "Only into this branch"] = None,
    sort: Literal["created", "updated", "popularity", "long-running"] = "created",
    direction: Direction = "desc",
    limit: Limit = 50,
) -> Calls:
    """List a repository's pull requests."""
    query = given(state=state, head=head, base=base, sort=sort, direction=direction)
    return _pages(Call("GET", _under(owner, repo, "/pulls"), query), limit)


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
    )
)
def get_pull(owner: Owner, repo: Repo, pull_number: Number) -> Call:
    """Read one pull request with its text, and whether it can be merged."""
    return Call("GET", _under(owner, repo, "/pulls/{pull_number}", pull_number=pull_number))


# -- how GitHub speaks --------------------------------------------------------------------------------


def _under(owner: str, repo: str, rest: str = "", **parts: str | int | list[str]) -> str:
    """A path under one repository."""
    return path(f"/repos/{{owner}}/{{repo}}{rest}", owner=owner, repo=repo, **parts)


def _pages(call: Call, limit: int, rows: str = "") -> Calls:
    """The first `limit` items of a list, page after page, as one answer; `rows` names the list inside an object."""
    call = replace(call, query={**call.query, "per_page": min(limit, PAGE_ITEMS)})
    items: list[Any] = []
    for _ in range(MOST_PAGES):
        answer = yield call
        items += answer.json[rows] if rows else answer.json
        following = _next(answer)
        if not following or len(items) >= limit:
            break
        call = replace(call, query={**call.query, **following})
    return {**answer.json, rows: items[:limit]} if rows else items[:limit]


def _next(answer: Answer) -> dict[str, str]:
    """The query of the next page: all that is taken from the link, so that it can lead to no other place."""
    link = _NEXT.search(answer.headers.get("link", ""))
    return dict(parse_qsl(urlsplit(link[1]).query)) if link else {}


def _text(file: dict[str, Any]) -> str | None:
    """A file's text, or a folder's names; None where there is no text."""
    if file["type"] == "dir":
        return "\n".join(f"- {entry['name']}{'/' if entry['type'] == 'dir' else ''}" for entry in file["entries"])
    try:
        return b64decode(file["content"]).decode() if file.get("encoding") == "base64" else None
    except ValueError:
        return None


def _commas(values: Sequence[str] | None) -> str | None:
    return ",".join(values) if values else None
