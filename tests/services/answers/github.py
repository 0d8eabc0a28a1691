"""GitHub's answers, and what its description lacks by https://docs.github.com/en/rest."""

from base64 import b64encode
from dataclasses import replace
from typing import Any

from mcpist.tools.call import Call, CallResponse
from tests.services.answers.additions import add
from tests.services.answers.amendments import confine

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
    """Answer a list for a folder, as GitHub does unless the request accepts its object form."""
    return FILE if "object" in call.headers.get("accept", "") else [FILE]


ANSWERS: dict[str, Any] = {"repos/get-content": _content}


def amend(document: dict[str, Any]) -> None:
    """State the values that the description gives in its text alone, and operations that it lacks."""
    confine(document, "/user/repos", "affiliation", ("owner", "collaborator", "organization_member"), several=True)
    add(document, "GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs", "actions/download-job-logs-for-workflow-run")


def with_next_page(call: Call, response: CallResponse) -> CallResponse:
    """Add the header that names the next page."""
    return replace(response, headers={"link": f'<https://api.github.com{call.path}?page=2>; rel="next"'})
