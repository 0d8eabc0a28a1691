"""What requests mean to a service where its description allows the contrary too; a check raises where it does not."""

from collections.abc import Callable, Generator
from typing import Any

from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module
from tests.services.answers.jira import issue
from tests.services.conversation import converse, work_of


def check_first_issue_blocks_second(jira: Module) -> None:
    """Demand that both issues read as the tool says; Jira shows the outward words at the issue under `inwardIssue`.

    https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-links/#api-rest-api-3-issuelink-post
    """
    work = work_of(jira, "link_issues", link_type="Blocks", inward_issue="ENG-1", outward_issue="ENG-2")
    assert isinstance(work, Generator)
    made = next(work)
    links = _links(made.json)
    assert _shown_links(jira, "ENG-1", links["ENG-1"]) == ["blocks ENG-2"]
    assert _shown_links(jira, "ENG-2", links["ENG-2"]) == ["is blocked by ENG-1"]


def check_everybody_sees_labels(confluence: Module) -> None:
    """Demand that labels are global: those with another prefix are a person's own, or a team's."""
    put = work_of(confluence, "add_labels", page_id="65551", labels=["runbook", "on-call"])
    assert isinstance(put, Call)
    assert {label["prefix"] for label in put.json} == {"global"}


SENSES: dict[str, dict[str, Callable[[Module], None]]] = {
    "confluence": {"add_labels": check_everybody_sees_labels},
    "jira": {"link_issues": check_first_issue_blocks_second},
}


def _links(request: Any) -> dict[str, dict[str, Any]]:
    """Return the link that Jira shows at each of both issues after a request."""
    first, second = request["inwardIssue"], request["outwardIssue"]
    kind = {"name": request["type"]["name"], "inward": "is blocked by", "outward": "blocks"}
    return {
        first["key"]: {"type": kind, "outwardIssue": second},
        second["key"]: {"type": kind, "inwardIssue": first},
    }


def _shown_links(jira: Module, key: str, link: dict[str, Any]) -> Any:
    work = work_of(jira, "get_issue", issue_key=key)
    assert not isinstance(work, Call)
    return converse(work, issue(key, issuelinks=[link]))[1]["links"]
