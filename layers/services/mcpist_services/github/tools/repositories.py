"""The connected account and people, repositories, their branches and commits."""

from typing import Annotated, Any, Literal

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, Calls, changes, comma_separated, given, path
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import From, Undo, restores, undone_by
from mcpist_services.github.module import (
    ADDRESSES,
    Direction,
    FilePath,
    Name,
    Owner,
    Query,
    Ref,
    Repo,
    Time,
    github,
    repo_path,
)

REPO = (
    "owner.login as owner",
    "name as repo",
    "description",
    "language",
    "stargazers_count as stars",
    "created_at as created",
    "updated_at as updated",
)
CREATED = shows("owner.login as owner", "name as repo", "default_branch", "private", "html_url as url")
BRANCH = shows("ref as branch", "object.sha as sha")
COMMIT = ("sha", "commit.author.date as date", "commit.author.name as author", "commit.message as message")
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
REPO_CHANGED = ("owner.login as owner", "name as repo", "default_branch", "archived", "html_url as url")
COMPARISON = shows(
    "status", "ahead_by", "behind_by", "commits[*].commit.message as commits", "files[*].filename as files"
)

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
    q: Annotated[Query, "GitHub's search syntax, e.g. topic:mcp language:python stars:>100"],
    sort: Annotated[Literal["stars", "forks", "help-wanted-issues", "updated"] | None, "Best match if left out"] = None,
    order: Direction = "desc",
) -> Call:
    """Search all repositories on GitHub by words, topic, language, owner or stars."""
    return Call("GET", "/search/repositories", given(q=q, sort=sort, order=order))


UNTOUCHED: dict[str, Any] = {name: name for name in ("full_name", "pushed_at", "open_issues_count", "archived")}


@github.writes(
    CREATED,
    "repos/create-for-authenticated-user",
    undo=undone_by(
        "update_repo(owner=answer.owner.login, repo=answer.name, archived=true)",
        read="get_repo",
        creates=True,
        fields=UNTOUCHED,
    ),
)
def create_repo(
    name: Annotated[Name, "e.g. hello-world"],
    organization: Annotated[Owner | None, "The organization that owns it; you if left out, e.g. octo-org"] = None,
    description: Annotated[str | None, "In one line, e.g. Greets the world"] = None,
    private: Annotated[bool, "Not open to everybody"] = True,
    auto_init: Annotated[bool, "Begin with a commit of a README, so that it has a branch"] = True,
) -> Call:
    """Create a repository."""
    place = path("/orgs/{organization}/repos", organization=organization) if organization else "/user/repos"
    fields = given(name=name, description=description) | {"private": private, "auto_init": auto_init}
    return Call("POST", place, json=fields)


@github.writes(
    CREATED,
    "repos/create-fork",
    undo=undone_by(
        "update_repo(owner=answer.owner.login, repo=answer.name, archived=true)",
        read="get_repo",
        creates=True,
        fields="full_name",
    ),
)
def fork_repo(
    owner: Owner,
    repo: Repo,
    organization: Annotated[
        Name | None, "The organization that will own the fork; you if left out, e.g. octo-org"
    ] = None,
    name: Annotated[Name | None, "The fork's name; the same if left out, e.g. my-hello-world"] = None,
    default_branch_only: Annotated[bool, "Copy no other branch"] = False,
) -> Call:
    """Fork a repository. Its files follow within minutes."""
    fields = given(organization=organization, name=name) | {"default_branch_only": default_branch_only}
    return Call("POST", repo_path(owner, repo, "/forks"), json=fields)


@github.writes(
    shows(*REPO_CHANGED),
    "repos/update",
    idempotent=True,
    uses=({"archived": True}, {"description": "Greets the world", "default_branch": "main"}),
    undo=restores(
        "get_repo",
        renamed={"repo": lambda change: (change.answer or {}).get("name") or change.arguments["repo"]},
        archived="archived",
        description=lambda repo: repo["description"] or "",
        homepage=lambda repo: repo["homepage"] or "",
        default_branch="default_branch",
        name="name",
        has_issues="has_issues",
        has_wiki="has_wiki",
        delete_branch_on_merge="delete_branch_on_merge",
    ),
)
def update_repo(
    owner: Owner,
    repo: Repo,
    archived: Annotated[bool | None, "true makes it read-only, false writable again"] = None,
    description: Annotated[str | None, "In one line, e.g. Greets the world"] = None,
    homepage: Annotated[str | None, "A website, e.g. https://example.com"] = None,
    default_branch: Annotated[Name | None, "e.g. main"] = None,
    name: Annotated[Name | None, "A new name; old addresses lead to it, e.g. hello-earth"] = None,
    has_issues: Annotated[bool | None, "Whether it has issues"] = None,
    has_wiki: Annotated[bool | None, "Whether it has a wiki"] = None,
    delete_branch_on_merge: Annotated[bool | None, "Whether merging a pull request deletes its branch"] = None,
) -> Call:
    """Archive, rename or describe a repository, or change its default branch. Who can see it stays."""
    texts = {"description": description, "homepage": homepage, "default_branch": default_branch, "name": name}
    flags = {"archived": archived, "has_issues": has_issues, "has_wiki": has_wiki}
    fields = changes(**texts, **flags, delete_branch_on_merge=delete_branch_on_merge)
    return Call("PATCH", repo_path(owner, repo), json=fields)


@github.lists(shows("name", "commit.sha as sha"), "repos/list-tags")
def list_tags(owner: Owner, repo: Repo) -> Call:
    """List a repository's tags, with the commits that they name."""
    return Call("GET", repo_path(owner, repo, "/tags"))


def _sha(item: Any) -> Any:
    """Return the commit that a ref names, or a commit's own."""
    return item.get("sha") or item["object"]["sha"]


def _created_ref(kind: str, place: str) -> Undo:
    """Declare that deleting a new tag or branch (`kind`, under `refs/{place}/`) undoes its creation."""
    call = f"delete_{kind}(owner, repo, {kind})"
    return undone_by(call, read="get_commit", creates=True, reads=_at(kind, place), fields={"sha": _sha})


def _deleted_ref(kind: str, place: str, source: str) -> Undo:
    """Declare that creating it again from its commit, by the argument `source`, undoes deleting a tag or a branch."""
    call = f"create_{kind}(owner, repo, {kind}, {source}=before.sha)"
    return undone_by(call, read="get_commit", reads=_at(kind, place))


def _at(kind: str, place: str) -> dict[str, From]:
    return {"ref": lambda change: f"{place}/{change.arguments[kind]}"}


def _create_ref(owner: str, repo: str, ref: str, source: str | None) -> Calls:
    """Create a ref at the head of another, at that of the default branch without one, or at a commit."""
    head = yield Call("GET", repo_path(owner, repo, "/commits/{ref}", ref=(source or "HEAD").split("/")))
    body = {"ref": ref, "sha": head.json["sha"]}
    return (yield Call("POST", repo_path(owner, repo, "/git/refs"), json=body)).json


@github.writes(shows("ref", "object.sha as sha"), "git/create-ref", undo=_created_ref("tag", "tags"))
def create_tag(
    owner: Owner,
    repo: Repo,
    tag: Annotated[Name, "e.g. v1.2.0"],
    ref: Annotated[Ref | None, "The commit or branch that it names; the default branch if left out, e.g. main"] = None,
) -> Calls:
    """Tag a commit; to publish notes with it use create_release."""
    return _create_ref(owner, repo, f"refs/tags/{tag}", ref)


@github.destroys(DONE, "git/delete-ref", undo=_deleted_ref("tag", "tags", "ref"))
def delete_tag(owner: Owner, repo: Repo, tag: Annotated[Name, "e.g. v1.2.0"]) -> Call:
    """Delete a tag; the commit that it names stays."""
    return Call("DELETE", repo_path(owner, repo, "/git/refs/tags/{tag}", tag=tag.split("/")))


@github.lists(shows("name", "commit.sha as sha", "protected"), "repos/list-branches")
def list_branches(
    owner: Owner,
    repo: Repo,
    protected: Annotated[bool | None, "Only protected (true) or unprotected (false) ones"] = None,
) -> Call:
    """List a repository's branches."""
    return Call("GET", repo_path(owner, repo, "/branches"), given(protected=protected))


@github.writes(BRANCH, "git/create-ref", undo=_created_ref("branch", "heads"))
def create_branch(
    owner: Owner,
    repo: Repo,
    branch: Annotated[Name, "The new branch, e.g. fix/login"],
    source: Annotated[
        Ref | None, "The branch or commit to start from; the default branch if left out, e.g. main"
    ] = None,
) -> Calls:
    """Create a branch from the head of another, or from a commit."""
    return _create_ref(owner, repo, f"refs/heads/{branch}", source)


@github.destroys(DONE, "git/delete-ref", undo=_deleted_ref("branch", "heads", "source"))
def delete_branch(owner: Owner, repo: Repo, branch: Annotated[Name, "e.g. fix/login"]) -> Call:
    """Delete a branch. Commits that no other branch has are lost after some time."""
    return Call("DELETE", repo_path(owner, repo, "/git/refs/heads/{branch}", branch=branch.split("/")))


@github.lists(shows(*COMMIT, "html_url as url"), "repos/list-commits")
def list_commits(
    owner: Owner,
    repo: Repo,
    sha: Annotated[str | None, "The branch, tag or commit to start from, e.g. main"] = None,
    path: Annotated[FilePath | None, "Only commits that changed this file or folder, e.g. src/app.py"] = None,
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


@github.lists(shows("login", "name", "email", "type", "html_url as url", rows="items"), "search/users")
def search_users(
    q: Annotated[Query, 'GitHub\'s search syntax, e.g. fullname:"Mona Lisa" type:user'],
    order: Direction = "desc",
) -> Call:
    """Search the people and organizations of GitHub by name, login, e-mail address or place."""
    return Call("GET", "/search/users", given(q=q, order=order))


TEAM = shows("slug", "name", "description", "privacy", "parent.slug as parent", "html_url as url")
PEOPLE = ("read:org",)

Organization = Annotated[Owner, "An organization, e.g. octo-org"]
TeamSlug = Annotated[Name, from_url(ADDRESSES, "team_slug"), "The slug that list_teams shows, e.g. platform"]


@github.lists(TEAM, "teams/list", scopes=PEOPLE)
def list_teams(owner: Organization) -> Call:
    """List the teams of an organization that you can see."""
    return Call("GET", path("/orgs/{owner}/teams", owner=owner))


@github.lists(shows("login", "type", "html_url as url"), "teams/list-members-in-org", scopes=PEOPLE)
def list_team_members(
    owner: Organization, team_slug: TeamSlug, role: Literal["all", "member", "maintainer"] = "all"
) -> Call:
    """List the people of a team, those of its sub-teams too."""
    return Call("GET", path("/orgs/{owner}/teams/{slug}/members", owner=owner, slug=team_slug), {"role": role})
