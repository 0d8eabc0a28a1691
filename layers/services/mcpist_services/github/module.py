"""GitHub: repositories and their files, issues, pull requests, Actions, releases, alerts, notifications.

Reference: https://docs.github.com/en/rest?apiVersion=2022-11-28
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import UtcMoment, from_url
from mcpist.tools.declare.call import ServiceResponse, given, path
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.paging import ExtraColumns, Paging, by_link
from mcpist_services.github.refusals import REFUSALS

_NEXT = re.compile(r'<([^<>]*)>; rel="next"')
# A page of the website, or the API's own address of the same thing.
_ADDRESS = r"https://(?:(?:www\.)?github\.com|api\.github\.com/repos)/"
_END = r"(?:[/?#]|$)"
_SUBJECT = re.compile(r"https://api\.github\.com/repos/([^/]+)/([^/]+)(?:/(?:issues|pulls)/(\d+))?")


UPLOADS = "https://uploads.github.com"


def _next_link(answer: ServiceResponse) -> str | None:
    link = _NEXT.search(answer.headers.get("link", ""))
    return link and link[1]


def link_paging(extra_columns: ExtraColumns | None = None) -> Paging:
    """Paging by the `link` header."""
    return Paging("per_page", 100, ("page", "after"), by_link(_next_link, "page", "after"), extra_columns)


github = Module(
    "github",
    __doc__,
    api_version="2022-11-28",
    host="https://api.github.com",
    origins=re.escape(UPLOADS),
    token_origins=(UPLOADS,),
    headers={"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"},
    paging=link_paging(),
    refusals=REFUSALS,
    # Public data can be read without a scope.
    scopes=Scopes(
        writes=("public_repo",),
        destroys=("public_repo",),
        implied_by={
            "public_repo": ("repo",),
            "notifications": ("repo",),
            "security_events": ("repo", "public_repo"),
        },
    ),
    category="development",
    tags=("code", "git"),
)

CHANGED = shows("number", "state", "html_url as url")

Owner = Annotated[
    str,
    Field(pattern=r"^[\w.-]+$"),
    from_url(rf"{_ADDRESS}([\w.-]+){_END}"),
    "The account that owns the repository, e.g. octocat",
]
Repo = Annotated[
    str,
    Field(pattern=r"^[\w.-]+$"),
    from_url(rf"{_ADDRESS}[\w.-]+/([\w.-]+?)(?:\.git)?{_END}"),
    "The repository's name without its owner, e.g. hello-world",
]
Number = Annotated[int, Field(ge=1), from_url(rf"{_ADDRESS}[\w.-]+/[\w.-]+/(?:[a-z]+/)+(\d+){_END}")]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Login = Annotated[str, Field(min_length=1)]
Markdown = Annotated[str, Field(max_length=65_536)]
Ref = Annotated[str, Field(min_length=1), "A branch, tag or commit, e.g. main"]
Time = Annotated[UtcMoment, "e.g. 2026-01-31T09:00:00Z"]
State = Literal["open", "closed", "all"]
Direction = Literal["asc", "desc"]


def repo_path(owner: str, repo: str, rest: str = "", **parts: str | int | list[str]) -> str:
    """Return a path under one repository."""
    return path(f"/repos/{{owner}}/{{repo}}{rest}", owner=owner, repo=repo, **parts)


def repository_of(url: str | None) -> dict[str, Any]:
    """Return the owner and repo of an address of the API, and the number and the page of its issue or pull request."""
    subject = _SUBJECT.match(url or "")
    if subject is None:
        return {}
    owner, repo, number = subject.groups()
    # The website leads from an issue's address to the pull request of the same number.
    web_url = f"https://github.com/{owner}/{repo}/issues/{number}" if number else None
    return given(owner=owner, repo=repo, number=number and int(number), web_url=web_url)


def comma_separated(values: Sequence[str] | None) -> str | None:
    """Join the values of a query parameter."""
    return ",".join(values) if values else None
