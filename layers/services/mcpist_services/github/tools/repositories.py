"""The connected account, repositories, their branches, commits and files."""

from base64 import b64decode, b64encode
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.call import Call, Calls, given
from mcpist_services.github.module import Direction, Name, Owner, Ref, Repo, Time, comma_separated, github, repo_path

REPO = (
    "owner.login as owner",
    "name as repo",
    "description",
    "language",
    "stargazers_count as stars",
    "created_at as created",
    "updated_at as updated",
)
BRANCH = shows("ref as branch", "object.sha as sha")
COMMIT = ("sha", "commit.author.date as date", "commit.author.name as author", "commit.message as message")
WRITTEN = shows("content.path as path", "content.sha as sha", "commit.sha as commit", "content.html_url as url")
REPO_DETAILS = shows(
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
COMMIT_DETAILS = shows(*COMMIT, "stats.total as lines", "files[*].filename as files", "html_url as url")
COMPARISON = shows(
    "status", "ahead_by", "behind_by", "commits[*].commit.message as commits", "files[*].filename as files"
)
FOUND = shows("repository.owner.login as owner", "repository.name as repo", "path", "html_url as url", rows="items")
FILE = shows("path", "sha", "size as size_bytes", "html_url as url", "content", text="content")

Affiliations = Annotated[
    list[Literal["owner", "collaborator", "organization_member"]], "Your relation to it; all if left out"
]


@github.reads(shows("login", "name", "email", "company", "html_url as url"), "users/get-authenticated")
def get_me() -> Call:
    """Read the account that GitHub is connected with."""
    return Call("GET", "/user")


@github.lists(shows(*REPO, "private", "html_url as url"), "repos/list-for-authenticated-user")
def list_repos(
    visibility: Literal["all", "public", "private"] = "all",
    affiliation: Affiliations | None = None,
    sort: Literal["created", "updated", "pushed", "full_name"] = "full_name",
    direction: Direction | None = None,
) -> Call:
    """List the repositories that you can reach: your own and those of your organizations."""
    query = given(visibility=visibility, affiliation=comma_separated(affiliation), sort=sort, direction=direction)
    return Call("GET", "/user/repos", query)


@github.reads(REPO_DETAILS, "repos/get")
def get_repo(owner: Owner, repo: Repo) -> Call:
    """Read one repository: its description, default branch and counts."""
    return Call("GET", repo_path(owner, repo))


@github.lists(shows(*REPO, "html_url as url", rows="items"), "search/repos")
def search_repos(
    q: Annotated[str, Field(min_length=1), "GitHub's search syntax, e.g. topic:mcp language:python stars:>100"],
    sort: Annotated[Literal["stars", "forks", "help-wanted-issues", "updated"] | None, "Best match if left out"] = None,
    order: Direction = "desc",
) -> Call:
    """Search all repositories on GitHub by words, topic, language, owner or stars."""
    return Call("GET", "/search/repositories", given(q=q, sort=sort, order=order))


@github.lists(shows("name", "commit.sha as sha", "protected"), "repos/list-branches")
def list_branches(
    owner: Owner,
    repo: Repo,
    protected: Annotated[bool | None, "Only protected (true) or unprotected (false) ones"] = None,
) -> Call:
    """List a repository's branches."""
    return Call("GET", repo_path(owner, repo, "/branches"), given(protected=protected))


@github.writes(BRANCH, "git/create-ref")
def create_branch(
    owner: Owner,
    repo: Repo,
    branch: Annotated[Name, "The new branch, e.g. fix/login"],
    source: Annotated[str | None, "The branch to start from; the default branch if left out, e.g. main"] = None,
) -> Calls:
    """Create a branch from the head of another."""
    if source is None:
        source = (yield Call("GET", repo_path(owner, repo))).json["default_branch"]
    head = yield Call("GET", repo_path(owner, repo, "/branches/{source}", source=source.split("/")))
    body = {"ref": f"refs/heads/{branch}", "sha": head.json["commit"]["sha"]}
    return (yield Call("POST", repo_path(owner, repo, "/git/refs"), json=body)).json


@github.lists(shows(*COMMIT, "html_url as url"), "repos/list-commits")
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
    return Call("GET", repo_path(owner, repo, "/commits"), query)


@github.reads(COMMIT_DETAILS, "repos/get-commit")
def get_commit(owner: Owner, repo: Repo, ref: Ref) -> Call:
    """Read one commit: its message and the files that it changed."""
    return Call("GET", repo_path(owner, repo, "/commits/{ref}", ref=ref.split("/")))


@github.reads(COMPARISON, "repos/compare-commits-with-basehead")
def compare(
    owner: Owner, repo: Repo, base: Ref, head: Annotated[Ref, "A branch, tag or commit, e.g. fix/login"]
) -> Call:
    """Compare two branches, tags or commits: the commits and files that head adds to base."""
    return Call("GET", repo_path(owner, repo, "/compare/{range}", range=f"{base}...{head}"))


@github.reads(FILE, "repos/get-content")
def get_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[str, Field(min_length=1), "From the repository's root, e.g. docs/README.md"],
    ref: Annotated[str | None, "A branch, tag or commit; the default branch if left out, e.g. main"] = None,
) -> Calls:
    """Read a file as text, or list a folder. A binary file, or one over 1 MB, has no content."""
    # With this media type the answer for a folder is an object too, not a plain list.
    kind = {"accept": "application/vnd.github.object+json"}
    answer = yield Call("GET", _file_path(owner, repo, path), given(ref=ref), headers=kind)
    return {**answer.json, "content": _text(answer.json)}


@github.reads(shows("path", "type", "size as size_bytes", rows="tree"), "git/get-tree")
def get_tree(
    owner: Owner,
    repo: Repo,
    tree_sha: Annotated[Name, "A tree's sha, or a branch, tag or commit, e.g. main"],
    recursive: Annotated[bool, "Include subfolders"] = True,
) -> Call:
    """List the files of a whole repository or folder at once."""
    query = {"recursive": "1"} if recursive else {}
    return Call("GET", repo_path(owner, repo, "/git/trees/{tree_sha}", tree_sha=tree_sha.split("/")), query)


@github.lists(FOUND, "search/code")
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
    """Create a file, or replace one, in its own commit."""
    body = given(message=message, content=b64encode(content.encode()).decode(), branch=branch, sha=sha)
    return Call("PUT", _file_path(owner, repo, path), json=body)


@github.destroys(shows("commit.sha as commit", "commit.html_url as url"), "repos/delete-file")
def delete_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[str, Field(min_length=1), "From the repository's root, e.g. docs/OLD.md"],
    sha: Annotated[Name, "The sha of the file, as get_file shows it, e.g. 3d21ec53a331"],
    message: Annotated[Name, "The commit's message, e.g. Remove the old page"],
    branch: Annotated[str | None, "The default branch if left out, e.g. main"] = None,
) -> Call:
    """Delete a file in its own commit."""
    return Call("DELETE", _file_path(owner, repo, path), json=given(message=message, sha=sha, branch=branch))


def _file_path(owner: str, repo: str, place: str) -> str:
    return repo_path(owner, repo, "/contents/{place}", place=place.strip("/").split("/"))


def _text(file: dict[str, Any]) -> str | None:
    """Return a file's text or the names in a folder; None for a file that is not text."""
    if file["type"] == "dir":
        return "\n".join(f"- {entry['name']}{'/' if entry['type'] == 'dir' else ''}" for entry in file["entries"])
    try:
        return b64decode(file["content"]).decode() if file.get("encoding") == "base64" else None
    except ValueError:
        return None
