"""Releases."""

from typing import Annotated, Any

from mcpist.errors import InvalidRequest
from mcpist.files.content import ContentArgument
from mcpist.render.shows import DONE, DOWNLOADED, shows
from mcpist.tools.declare.call import Call, given
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import row_where, undone_by, unless
from mcpist_services.github.module import ADDRESSES, UPLOADS, Markdown, Name, Number, Owner, Repo, github, repo_path

RELEASE = ("id", "tag_name as tag", "name", "draft", "prerelease", "published_at as published")
RELEASE_DETAILS = shows(
    *RELEASE, "author.login as author", "assets[*].name as assets", "html_url as url", "body", text="body"
)
ASSETS = shows(
    "id",
    "name",
    "content_type as type",
    "size as size_bytes",
    "download_count",
    "created_at as created",
    "browser_download_url as url",
)

_PARTS = ("tag_name", "name", "body", "target_commitish", "draft", "prerelease")
RELEASED: dict[str, Any] = {name: f"before.{name}" for name in _PARTS}

ReleaseTag = Annotated[Name, from_url(ADDRESSES, "tag")]
ReleaseId = Annotated[Number, "The id that list_releases shows"]


@github.lists(shows(*RELEASE, "html_url as url"), "repos/list-releases")
def list_releases(owner: Owner, repo: Repo) -> Call:
    """List a repository's releases, the newest first."""
    return Call("GET", repo_path(owner, repo, "/releases"))


@github.reads(RELEASE_DETAILS, "repos/get-release", uses=({}, {"release_id": 1}, {"tag": "v1.2.0"}))
def get_release(
    owner: Owner,
    repo: Repo,
    release_id: Annotated[Number | None, "The latest release if this and the tag are left out"] = None,
    tag: Annotated[ReleaseTag | None, "Its tag, in the place of its id, e.g. v1.2.0"] = None,
) -> Call:
    """Read a release with its notes: the latest, or one by its id or tag."""
    if tag is not None and release_id is not None:
        raise InvalidRequest(field="tag", problem="give the tag or the release_id, not both")
    if tag is not None:
        return Call("GET", repo_path(owner, repo, "/releases/tags/{tag}", tag=tag))
    return Call("GET", repo_path(owner, repo, "/releases/{release}", release=release_id or "latest"))


@github.lists(ASSETS, "repos/list-release-assets")
def list_release_assets(owner: Owner, repo: Repo, release_id: ReleaseId) -> Call:
    """List the files of a release."""
    return Call("GET", repo_path(owner, repo, "/releases/{release_id}/assets", release_id=release_id))


@github.reads(DOWNLOADED, "repos/get-release-asset")
def download_release_asset(
    owner: Owner, repo: Repo, asset_id: Annotated[Number, "The id that list_release_assets shows"]
) -> Call:
    """Download a file of a release."""
    place = repo_path(owner, repo, "/releases/assets/{asset_id}", asset_id=asset_id)
    return Call("GET", place, headers={"accept": "application/octet-stream"}, download=True)


@github.writes(
    shows("id", "name", "size as size_bytes", "browser_download_url as url"),
    "repos/upload-release-asset",
    undo=undone_by(
        "delete_release_asset(owner, repo, asset_id=answer.id)",
        read="list_release_assets(release_id)",
        select=row_where("id", "answer.id"),
        creates=True,
        fields="name size",
    ),
)
def upload_release_asset(
    owner: Owner,
    repo: Repo,
    release_id: ReleaseId,
    name: Annotated[Name, "e.g. notes.txt"],
    content: Annotated[ContentArgument, "The text, or the reference of a file, e.g. It is faster."],
) -> Call:
    """Add a file to a release."""
    place = repo_path(owner, repo, "/releases/{release_id}/assets", release_id=release_id)
    return Call("POST", place, {"name": name}, origin=UPLOADS, content=content)


@github.writes(
    shows("id", "tag_name as tag", "draft", "html_url as url"),
    "repos/create-release",
    undo=undone_by(
        "delete_release(owner, repo, release_id=answer.id)",
        read="get_release",
        creates=True,
        fields={"name": "name", "body": "body", "draft": "draft", "assets": lambda release: len(release["assets"])},
    ),
)
def create_release(
    owner: Owner,
    repo: Repo,
    tag_name: Annotated[Name, "e.g. v1.2.0"],
    name: Annotated[Name | None, "Its title, e.g. 1.2: faster search"] = None,
    body: Annotated[Markdown | None, "Its notes in Markdown, e.g. - Search is faster"] = None,
    target_commitish: Annotated[
        str | None, "Where a new tag is created; the default branch if left out, e.g. main"
    ] = None,
    draft: Annotated[bool, "Not published yet"] = False,
    prerelease: Annotated[bool, "Not ready for production"] = False,
    generate_release_notes: Annotated[bool, "Let GitHub write name and notes"] = False,
) -> Call:
    """Publish a release, or draft one."""
    fields = given(tag_name=tag_name, name=name, body=body, target_commitish=target_commitish)
    fields |= {"draft": draft, "prerelease": prerelease, "generate_release_notes": generate_release_notes}
    return Call("POST", repo_path(owner, repo, "/releases"), json=fields)


@github.destroys(
    DONE,
    "repos/delete-release",
    undo=unless(
        lambda change: change.before and change.before["assets"],
        "its files are deleted",
        undone_by("create_release(owner, repo)", read="get_release", **RELEASED),
    ),
)
def delete_release(owner: Owner, repo: Repo, release_id: ReleaseId) -> Call:
    """Delete a release with its files; its tag stays."""
    return Call("DELETE", repo_path(owner, repo, "/releases/{release_id}", release_id=release_id))


@github.destroys(DONE, "repos/delete-release-asset", irreversible="GitHub keeps no deleted file of a release")
def delete_release_asset(
    owner: Owner, repo: Repo, asset_id: Annotated[Number, "The id that list_release_assets shows"]
) -> Call:
    """Delete a file of a release."""
    return Call("DELETE", repo_path(owner, repo, "/releases/assets/{asset_id}", asset_id=asset_id))
