"""Releases."""

from typing import Annotated

from mcpist.render.shows import shows
from mcpist.tools.call import Call, given
from mcpist_services.github.module import Markdown, Name, Number, Owner, Repo, github, repo_path

RELEASE = ("id", "tag_name as tag", "name", "draft", "prerelease", "published_at as published")
RELEASE_DETAILS = shows(
    *RELEASE, "author.login as author", "assets[*].name as assets", "html_url as url", "body", text="body"
)


@github.lists(shows(*RELEASE, "html_url as url"), "repos/list-releases")
def list_releases(owner: Owner, repo: Repo) -> Call:
    """List a repository's releases, the newest first."""
    return Call("GET", repo_path(owner, repo, "/releases"))


@github.reads(RELEASE_DETAILS, "repos/get-release")
def get_release(
    owner: Owner, repo: Repo, release_id: Annotated[Number | None, "The latest release if left out"] = None
) -> Call:
    """Read a release with its notes: the latest, or one by its id."""
    return Call("GET", repo_path(owner, repo, "/releases/{release}", release=release_id or "latest"))


@github.writes(shows("id", "tag_name as tag", "draft", "html_url as url"), "repos/create-release")
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
