"""GitHub: repositories and their files, issues, pull requests, Actions, releases, alerts, notifications.

Reference: https://docs.github.com/en/rest?apiVersion=2022-11-28
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.running.refusals import error_message, is_rate_limit
from mcpist.tools.declare.argument_types import UtcMoment, times_in_query
from mcpist.tools.declare.call import ServiceResponse, given, path_template
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal, Refusals
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.paging import ExtraColumns, Paging, by_link
from mcpist.tools.declare.pasted import address_reader, from_url

repo_path = path_template("/repos/{owner}/{repo}")
_NEXT = re.compile(r'<([^<>]*)>; rel="next"')
_SUBJECT = re.compile(r"https://api\.github\.com/repos/([^/]+)/([^/]+)(?:/(?:issues|pulls)/(\d+))?")
_HIGHER_LEVELS = {"read": ("write:", "admin:", ""), "write": ("admin:",)}
_PARENT_SCOPES = {"public_repo": "repo", "repo_deployment": "repo"}


UPLOADS = "https://uploads.github.com"


def _next_link(answer: ServiceResponse) -> str | None:
    link = _NEXT.search(answer.headers.get("link", ""))
    return link and link[1]


def link_paging(extra_columns: ExtraColumns | None = None) -> Paging:
    """Paging by the `link` header."""
    return Paging("per_page", 100, ("page", "after"), by_link(_next_link, "page", "after"), extra_columns)


def _read_refusal(response: ServiceResponse) -> Refusal | None:
    """Return the refusal in a response; None for one that tells no more than its status.

    Secondary limits, limits of one resource, and scopes that only headers name:
    https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
    https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
    """
    status, headers, message = response.status, response.headers, error_message(response.json)
    if status == 200:
        return _graphql_refusal(response.json)
    if is_rate_limit(status, headers) or (status == 403 and "secondary rate limit" in message):
        return RateLimited(path_only=headers.get("x-ratelimit-resource", "core") != "core")
    if status not in {403, 404}:
        return None
    scope = _missing_scope(headers)
    if scope is None and "not accessible by integration" in message:
        scope = headers.get("x-accepted-github-permissions")
    return None if scope is None else MissingScope(scope=scope)


def _graphql_refusal(body: Any) -> Refusal | None:
    """Return the refusal in an answer of the GraphQL API, which has status 200 and the errors beside the data."""
    errors = body.get("errors") if isinstance(body, dict) and "data" in body else None
    if not isinstance(errors, list) or not errors or not isinstance(errors[0], dict):
        return None
    kind, problem = errors[0].get("type"), str(errors[0].get("message", ""))
    if kind == "RATE_LIMITED":
        return RateLimited(path_only=True)
    return MissingScope(problem=problem) if kind == "INSUFFICIENT_SCOPES" else Refusal(problem=problem)


def _missing_scope(headers: Mapping[str, str]) -> str | None:
    """Return the scopes any of which an OAuth token needs, if it has none of them; an App has permissions instead.

    https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
    """
    held, accepted = _scopes(headers.get("x-oauth-scopes", "")), _scopes(headers.get("x-accepted-oauth-scopes", ""))
    is_app = not held and "x-accepted-github-permissions" in headers
    if "x-oauth-scopes" not in headers or is_app or any(_covers(held, scope) for scope in accepted):
        return None
    return " or ".join(sorted(accepted)) or None


def _scopes(text: str) -> set[str]:
    return {scope.strip() for scope in text.split(",")} - {""}


def _covers(held: set[str], scope: str) -> bool:
    """Whether a scope is held, or one that includes it: `repo` has `repo:status`, `admin:org` has `read:org`."""
    level, _, thing = scope.rpartition(":")
    wider = {level or _PARENT_SCOPES.get(thing, ""), *(f"{rank}{thing}" for rank in _HIGHER_LEVELS.get(level, ()))}
    return not held.isdisjoint({scope, *wider})


github = Module(
    "github",
    __doc__,
    api_version="2022-11-28",
    host="https://api.github.com",
    # Whoever has an account may write these in a public repository.
    labels=dict.fromkeys(("*issue*", "*comment*", "*discussion*", "*pull*", "*review*"), ("untrusted",)),
    origins=re.escape(UPLOADS),
    token_origins=(UPLOADS,),
    headers={"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"},
    paging=link_paging(),
    refusals=Refusals(_read_refusal),
    # Public data can be read without a scope.
    scopes=Scopes(
        writes=("public_repo",),
        destroys=("public_repo",),
        implied_by={
            "public_repo": ("repo",),
            "notifications": ("repo",),
            "security_events": ("repo", "public_repo"),
            "read:project": ("project",),
            "read:org": ("write:org", "admin:org"),
        },
    ),
    category="development",
    tags=("code", "git"),
)

CHANGED = shows("number", "state", "html_url as url")

# A page of the website, or the API's own address of the same thing.
WEBSITE = r"https://(?:(?:www\.)?github\.com|api\.github\.com/repos)/"
_REPO = rf"{WEBSITE}[\w.-]+/[\w.-]+"
_OWNED = r"(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+?)"
_NUMBER = r"(?P<issue_number__pull_number>\d+)"
_REVISION = r"(?P<ref__branch__sha>[^/?#]+)"
ADDRESSES = address_reader(
    rf"{WEBSITE}(?!orgs/|users/)(?P<owner>[\w.-]+)(?:/(?P<repo>[\w.-]+?)(?:\.git)?)?(?:[/?#]|$)",
    rf"{WEBSITE}(?:orgs|users)/(?P<owner>[\w.-]+)(?:/projects/(?P<project_number>\d+))?",
    rf"{WEBSITE}orgs/[\w.-]+/teams/(?P<team_slug>[\w.-]+)",
    rf"{_REPO}/discussions/(?P<discussion_number>\d+)",
    rf"{_REPO}/(?:issues|pulls?)/{_NUMBER}",
    rf"{_REPO}/(?:issues|pull)/\d+[^#]*#issuecomment-(?P<comment_id__issue>\d+)",
    rf"{_REPO}/pull/\d+[^#]*#(?:discussion_)?r(?P<comment_id__review>\d+)",
    rf"{_REPO}/milestone/(?P<milestone>\d+)",
    rf"{_REPO}/(?:blob|raw|blame|edit|tree)/{_REVISION}(?:/(?P<path>[^?#]+))?",
    rf"{_REPO}/(?:tree|(?:pull/\d+/)?commits?|releases/tag)/(?P<revision>[^?#]+)",
    rf"{_REPO}/releases/tag/(?P<tag>[^?#]+)",
    rf"{_REPO}/actions/runs/(?P<run_id>\d+)",
    rf"{_REPO}/(?:actions/runs/\d+(?:/attempts/\d+)?/jobs?|actions/jobs|runs)/(?P<job_id>\d+)",
    rf"{_REPO}/actions/runs/\d+/artifacts/(?P<artifact_id>\d+)",
    rf"{_REPO}/actions/workflows/(?P<workflow_id>[\w.-]+)",
    rf"{_REPO}/security/dependabot/(?P<alert_number>\d+)",
    rf"https://raw\.githubusercontent\.com/{_OWNED}/(?:refs/(?:heads|tags)/)?{_REVISION}/(?P<path>[^?#]+)",
)
_SHORT = rf"(?:git@github\.com:)?{_OWNED}(?:\.git)?(?:#{_NUMBER})?"

Owner = Annotated[
    str,
    Field(pattern=r"^[\w.-]+$"),
    from_url(ADDRESSES, "owner", _SHORT),
    "The account that owns the repository, e.g. octocat",
]
Repo = Annotated[
    str,
    Field(pattern=r"^[\w.-]+$"),
    from_url(ADDRESSES, "repo", _SHORT),
    "The repository's name without its owner, e.g. hello-world",
]
Number = Annotated[int, Field(ge=1)]
IssueNumber = Annotated[Number, from_url(ADDRESSES, "issue_number__pull_number", rf"(?:{_OWNED})?#{_NUMBER}")]
FilePath = Annotated[str, Field(min_length=1), from_url(ADDRESSES, "path", fills=("ref__branch__sha",))]
Query = Annotated[str, Field(min_length=1), times_in_query()]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Login = Annotated[str, Field(min_length=1)]
Markdown = Annotated[str, Field(max_length=65_536)]
Ref = Annotated[str, Field(min_length=1), from_url(ADDRESSES, "revision"), "A branch, tag or commit, e.g. main"]
Time = Annotated[UtcMoment, "e.g. 2026-01-31T09:00:00Z"]
State = Literal["open", "closed", "all"]
Direction = Literal["asc", "desc"]


def repository_of(url: str | None) -> dict[str, Any]:
    """Return the owner and repo of an address of the API, and the number and the page of its issue or pull request."""
    subject = _SUBJECT.match(url or "")
    if subject is None:
        return {}
    owner, repo, number = subject.groups()
    # The website leads from an issue's address to the pull request of the same number.
    web_url = f"https://github.com/{owner}/{repo}/issues/{number}" if number else None
    return given(owner=owner, repo=repo, number=number and int(number), web_url=web_url)
