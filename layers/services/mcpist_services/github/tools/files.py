"""Files of repositories."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from pydantic import Field, with_config

from mcpist.errors import Conflict, NotUndoable
from mcpist.files.content import ContentArgument
from mcpist.render.shows import DOWNLOADED, shows, value_at
from mcpist.tools.declare.call import Call, Calls, given
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, compares, undone_by
from mcpist_services.github.module import FilePath, Markdown, Name, Owner, Repo, github, repo_path

FILE = shows("path", "sha", "size as size_bytes", "html_url as url", "content", text="content")
FOUND = shows("repository.owner.login as owner", "repository.name as repo", "path", "html_url as url", rows="items")
WRITTEN = shows("content.path as path", "content.sha as sha", "commit.sha as commit", "content.html_url as url")
COMMITTED = shows("sha", "branch", "html_url as url")
Ref = Annotated[str, "A branch, tag or commit; the default branch if left out, e.g. main"]
FILES = 'Whole texts, e.g. [{"path": "docs/setup.md", "content": "# Setup"}]'


@with_config(extra="forbid", coerce_numbers_to_str=True)
class TextFile(TypedDict):
    """A file of a commit."""

    path: Annotated[str, Field(min_length=1)]
    content: str


@github.reads(FILE, "repos/get-content")
def get_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[FilePath, "From the repository's root, e.g. docs/README.md"],
    ref: Ref | None = None,
) -> Calls:
    """Read a file as text, or list a folder. A binary file, or one over 1 MB, has no content."""
    # With this media type the answer for a folder is an object too, not a plain list.
    kind = {"accept": "application/vnd.github.object+json"}
    answer = yield Call("GET", _file_path(owner, repo, path), given(ref=ref), headers=kind)
    return {**answer.json, "content": _text(answer.json)}


@github.reads(DOWNLOADED, "repos/get-content")
def download_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[FilePath, "From the repository's root, e.g. docs/logo.png"],
    ref: Ref | None = None,
) -> Call:
    """Download a file of a repository, a binary one too, of up to 32 MB."""
    kind = {"accept": "application/vnd.github.raw+json"}
    return Call("GET", _file_path(owner, repo, path), given(ref=ref), headers=kind, download=True)


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


AT_BRANCH = {"ref": "arguments.branch"}
COMMITTED_UNDO = undone_by(
    "revert_commit(owner, repo, branch=answer.branch, sha=answer.sha)",
    read="get_commit",
    creates=True,
    reads={"ref": lambda change: f"heads/{change.answer['branch']}"},
    fields="sha",
)


def _written(change: ToolChange) -> dict[str, Any]:
    return {"sha": value_at(change.answer, "content.sha")}


def _put_back(change: ToolChange) -> Iterable[ToolCall]:
    """Return the commit that restores a file, or deletes one that was not there."""
    place = {name: value for name in ("owner", "repo", "path", "branch") if (value := change.arguments[name])}
    place["message"] = f"Undo: {change.arguments['message']}"
    now = given(sha=value_at(change.answer, "content.sha"))
    if change.before is None:
        return [ToolCall("delete_file", place | now)]
    if change.before.get("content") is None or change.before["type"] != "file":
        raise NotUndoable(tool=change.tool, problem="only a text of up to 1 MB is restored")
    return [ToolCall("put_file", place | now | {"content": change.before["content"]})]


@github.writes(
    WRITTEN,
    "repos/create-or-update-file-contents",
    undo=Undo(calls=_put_back, read="get_file", reads=AT_BRANCH, state=compares(sha="sha"), after=_written),
)
def put_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[FilePath, "From the repository's root, e.g. docs/README.md"],
    content: Annotated[ContentArgument, "The whole text, or the reference of a file, e.g. # Hello"],
    message: Annotated[Name, "The commit's message, e.g. Describe the setup"],
    branch: Annotated[str | None, "The default branch if left out, e.g. main"] = None,
    sha: Annotated[str | None, "The sha of the file it replaces; none for a new file, e.g. 3d21ec53a331"] = None,
) -> Call:
    """Create a file, or replace one, in its own commit."""
    body = given(message=message, content=b64encode(content.content).decode(), branch=branch, sha=sha)
    return Call("PUT", _file_path(owner, repo, path), json=body)


@github.writes(COMMITTED, "git/create-commit", undo=COMMITTED_UNDO)
def commit_files(
    owner: Owner,
    repo: Repo,
    files: Annotated[list[TextFile], Field(min_length=1, max_length=300), FILES],
    message: Annotated[Markdown, "The commit's message, e.g. Describe the setup"],
    branch: Annotated[str | None, "The default branch if left out, e.g. main"] = None,
) -> Calls:
    """Create or replace several files in one commit. It fails where the branch has moved meanwhile."""
    if branch is None:
        branch = (yield Call("GET", repo_path(owner, repo))).json["default_branch"]
    head = (yield Call("GET", repo_path(owner, repo, "/branches/{branch}", branch=branch.split("/")))).json["commit"]
    entries = [{**file, "mode": "100644", "type": "blob"} for file in files]
    body: dict[str, Any] = {"base_tree": head["commit"]["tree"]["sha"], "tree": entries}
    tree = (yield Call("POST", repo_path(owner, repo, "/git/trees"), json=body, prepares=True)).json["sha"]
    return (yield from _commit(owner, repo, branch, message, tree, head["sha"]))


@github.writes(COMMITTED, "git/create-commit", undo=COMMITTED_UNDO)
def revert_commit(
    owner: Owner, repo: Repo, branch: Annotated[Name, "e.g. main"], sha: Annotated[Name, "e.g. 6dcb09b5b578"]
) -> Calls:
    """Take back the newest commit of a branch, also a merge, by a commit with the files as they were before it."""
    head = (yield Call("GET", repo_path(owner, repo, "/commits/{ref}", ref=["heads", *branch.split("/")]))).json
    if not head["sha"].startswith(sha):
        raise Conflict(what=branch)
    before = (yield Call("GET", repo_path(owner, repo, "/commits/{ref}", ref=head["parents"][0]["sha"]))).json
    message = f'Revert "{head["commit"]["message"].splitlines()[0]}"'
    return (yield from _commit(owner, repo, branch, message, before["commit"]["tree"]["sha"], head["sha"]))


def _commit(owner: str, repo: str, branch: str, message: str, tree: str, parent: str) -> Calls:
    """Commit a tree to a branch, which fails where the branch has moved from the parent meanwhile."""
    body = {"message": message, "tree": tree, "parents": [parent]}
    commit = (yield Call("POST", repo_path(owner, repo, "/git/commits"), json=body, prepares=True)).json
    place = repo_path(owner, repo, "/git/refs/heads/{branch}", branch=branch.split("/"))
    yield Call("PATCH", place, json={"sha": commit["sha"]})
    return {**commit, "branch": branch}


@github.destroys(
    shows("commit.sha as commit", "commit.html_url as url"),
    "repos/delete-file",
    undo=Undo(calls=_put_back, read="get_file", reads=AT_BRANCH, state=compares(sha="sha"), after=lambda _: {}),
)
def delete_file(
    owner: Owner,
    repo: Repo,
    path: Annotated[FilePath, "From the repository's root, e.g. docs/OLD.md"],
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
