"""Service projects: their queues of customers' requests.

Reference: https://developer.atlassian.com/cloud/jira/service-desk/rest/api-group-servicedesk/
"""

from typing import Annotated, Any

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, path
from mcpist.tools.declare.paging import Paging, by_offset
from mcpist_services.jira.fields import other_fields
from mcpist_services.jira.module import ISSUE, Name, jira

SCOPES = ("read:servicedesk-request",)
DESKS = shows("id", "projectKey as project", "projectName as name", "page_url as url", rows="values")
QUEUES = shows("id", "name", "issueCount as issues", "jql", rows="values")
REQUESTS = shows(*ISSUE, "more", rows="values")
_NEXT = by_offset("start", last=lambda page, _: bool(page["isLastPage"]))
BY_START = Paging("limit", 50, ("start",), _NEXT)

DeskId = Annotated[Name, "The id that list_service_desks shows, or the project's key, e.g. 1"]
QueueId = Annotated[Name, "The id that list_queues shows, e.g. 20"]


def _desk_path(item: Any, _: Any) -> str | None:
    return path("/browse/{key}", key=item["projectKey"]) if item.get("projectKey") else None


@jira.lists(DESKS, "getServiceDesks", paging=BY_START, scopes=SCOPES, page_path=_desk_path)
def list_service_desks() -> Call:
    """List the service projects (help desks) that you can see."""
    return Call("GET", "/rest/servicedeskapi/servicedesk")


@jira.lists(QUEUES, "getQueues", paging=BY_START, scopes=SCOPES)
def list_queues(service_desk_id: DeskId) -> Call:
    """List the queues of a service project, with the number of requests in each."""
    place = path("/rest/servicedeskapi/servicedesk/{desk}/queue", desk=service_desk_id)
    return Call("GET", place, {"includeCount": True})


@jira.lists(
    REQUESTS,
    "getIssuesInQueue",
    paging=Paging("limit", 50, ("start",), _NEXT, other_fields),
    scopes=SCOPES,
)
def list_queue_issues(service_desk_id: DeskId, queue_id: QueueId) -> Call:
    """List the requests in a queue, in its order."""
    place = "/rest/servicedeskapi/servicedesk/{desk}/queue/{queue}/issue"
    return Call("GET", path(place, desk=service_desk_id, queue=queue_id))
