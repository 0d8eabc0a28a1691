"""GitHub's answers, and what its description lacks by https://docs.github.com/en/rest."""

import re
from base64 import b64encode
from dataclasses import replace
from typing import Any

from mcpist.tools.declare.call import Call, ServiceResponse
from tests.services.answers.amendments import confine
from tests.services.answers.github_operations import add_operations, graphql

FILE: dict[str, Any] = {
    "type": "file",
    "encoding": "base64",
    "size": 8,
    "name": "README.md",
    "path": "docs/README.md",
    "sha": "3d21ec53a331a6f037a91c368710b99387d012c1",
    "url": "https://api.github.com/repos/octocat/hello-world/contents/docs/README.md",
    "git_url": None,
    "html_url": "https://github.com/octocat/hello-world/blob/main/docs/README.md",
    "download_url": None,
    "content": b64encode(b"# Title\n").decode(),
    "_links": {"git": None, "html": None, "self": "https://api.github.com/x"},
}


def _content(call: Any) -> Any:
    """Answer a list for a folder, as GitHub does unless the request accepts its object form, or the bytes of a file."""
    return FILE if {"object", "raw"} & set(re.findall("[a-z]+", call.headers.get("accept", ""))) else [FILE]


# Releases have an origin of their own for uploads.
HOSTS = {"https://uploads.github.com": "https://api.github.com"}
ANSWERS: dict[str, Any] = {"repos/get-content": _content, "graphql": graphql}


def amend(document: dict[str, Any]) -> None:
    """State the values that the description gives in its text alone, and operations that it lacks."""
    review = document["paths"]["/repos/{owner}/{repo}/pulls/{pull_number}/reviews"]["post"]["requestBody"]
    comments = review["content"]["application/json"]["schema"]["properties"]["comments"]
    comments["items"]["properties"]["side"]["enum"] = ["LEFT", "RIGHT"]
    confine(document, "/user/repos", "affiliation", ("owner", "collaborator", "organization_member"), several=True)
    add_operations(document)
    # By its text it takes a range, too.
    document["components"]["parameters"]["created"]["schema"].pop("format", None)
    issue = document["paths"]["/repos/{owner}/{repo}/issues/{issue_number}"]["patch"]["requestBody"]
    issue["content"]["application/json"]["schema"]["properties"]["milestone"] = {"type": "integer", "nullable": True}
    alerts = "/repos/{owner}/{repo}/dependabot/alerts"
    confine(document, alerts, "state", ("auto_dismissed", "dismissed", "fixed", "open"), several=True)
    confine(document, alerts, "severity", ("low", "medium", "high", "critical"), several=True)
    assets = document["paths"]["/repos/{owner}/{repo}/releases/{release_id}/assets"]["post"]
    assets["requestBody"]["content"] = {"*/*": {}}  # the type of whatever is sent


def with_next_page(call: Call, response: ServiceResponse) -> ServiceResponse:
    """Add the header that names the next page."""
    position = "after=Y3Vyc29y" if "/dependabot/alerts" in call.path or "/projectsV2" in call.path else "page=2"
    return replace(response, headers={"link": f'<https://api.github.com{call.path}?{position}>; rel="next"'})
