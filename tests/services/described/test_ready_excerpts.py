"""Entries of the catalogue, on small descriptions of our own in the shape of the vendors' ones."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist.render.shows import project
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist.tools.declare.dialect import RateLimited
from mcpist_services.described.module import DescribedTool, module
from mcpist_services.described.overlay import Overlay
from mcpist_services.registered.catalogue import overlay_of
from tests.services.conversation import converse, work_of

type Fields = Mapping[str, Any]

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
PROPERTIES = {"type": "object", "additionalProperties": TEXT}


def fields(names: str) -> dict[str, Any]:
    """The schema of an object with texts of these names, or with a number where a name ends in `#`."""
    named = {name.rstrip("#"): NUMBER if name.endswith("#") else TEXT for name in names.split()}
    return {"type": "object", "properties": named}


def operation(
    key: str, answer: Fields | None, *, query: Sequence[Any] = (), body: Any = None, **more: str
) -> tuple[str, Fields]:
    """An operation with the parameters of its path; `query` are names or whole parameters."""
    path = key.partition(" ")[2]
    places = [{"name": one, "in": "path", "required": True, "schema": TEXT} for one in re.findall(r"{(.+?)}", path)]
    asked = [{"name": one, "in": "query", "schema": TEXT} if isinstance(one, str) else one for one in query]
    content = {"application/json": {"schema": answer}}
    stated: dict[str, Any] = {"parameters": [*places, *asked], "responses": {"200": {"content": content}}, **more}
    if answer is None:
        stated["responses"] = {"204": {"description": "No content"}}
    if body:
        stated["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return key, stated


def described(schemes: Fields, *operations: tuple[str, Fields], servers: Sequence[str] = ()) -> bytes:
    """A description of these operations, each of which accepts every scheme."""
    paths: dict[str, Any] = {}
    for key, stated in operations:
        method, _, path = key.partition(" ")
        security = [{name: []} for name in schemes]
        paths.setdefault(path, {})[method.lower()] = {"operationId": key.lower()} | stated | {"security": security}
    return json.dumps(
        {
            "openapi": "3.0.1",
            "info": {"title": "API", "version": "1"},
            "servers": [{"url": url} for url in servers],
            "paths": paths,
            "components": {"securitySchemes": schemes},
        }
    ).encode()


def rows(overlay: Overlay, tool: str, answer: Any) -> list[dict[str, Any]]:
    """What a model reads of an answer, without what it lacks."""
    found = module(overlay).tools[tool]
    return [{k: v for k, v in row.items() if v is not None} for row in project(answer, found.shows)]


def lists(key: str, item: Fields, more: Fields | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": {key: {"type": "array", "items": item}, **(more or {})}}


RECORD = {"type": "object", "properties": {"id": TEXT, "properties": PROPERTIES, "updatedAt": TEXT, "url": TEXT}}
NEXT = {"type": "object", "properties": {"next": fields("after link")}}
CREATED = {"type": "object", "properties": {"createdResourceId": TEXT, "entity": RECORD, "location": TEXT}}
WANTED = {
    "type": "object",
    "required": ["after", "filterGroups", "limit", "properties", "sorts"],
    "properties": {
        "query": TEXT,
        "after": TEXT,
        "limit": NUMBER,
        "filterGroups": {"type": "array", "items": {"type": "object"}},
        "properties": {"type": "array", "items": TEXT},
        "sorts": {"type": "array", "items": TEXT},
    },
}
INPUT = {
    "type": "object",
    "required": ["associations", "properties"],
    "properties": {"associations": {"type": "array", "items": {"type": "object"}}, "properties": PROPERTIES},
}


def collection(base: str, item: str) -> list[tuple[str, Fields]]:
    return [
        operation(f"GET {base}", lists("results", RECORD, {"paging": NEXT}), query=["limit", "after"]),
        operation(f"POST {base}", CREATED, body=INPUT),
        operation(f"POST {base}/search", lists("results", RECORD, {"paging": NEXT}), body=WANTED),
        operation(f"GET {base}/{{{item}}}", RECORD, query=["properties"]),
        operation(f"DELETE {base}/{{{item}}}", None, summary="Archive"),
    ]


def test_a_crm_in_several_files_is_one_module_with_names_that_people_use() -> None:
    oauth = {"authorizationUrl": "https://a.example.com", "tokenUrl": "https://a.example.com", "scopes": {}}
    schemes = {
        "private_apps": {"type": "apiKey", "in": "header", "name": "private-app"},
        "oauth2": {"type": "oauth2", "flows": {"authorizationCode": oauth}},
    }
    host, base = ["https://api.hubapi.com"], "/crm/v3/objects"
    files = {
        "contacts.json": described(schemes, *collection(f"{base}/contacts", "contactId"), servers=host),
        "deals.json": described(schemes, *collection(f"{base}/0-3", "dealId"), servers=host),
    }
    overlay = overlay_of("hubspot", files)
    wanted = {"list_deals", "create_deal", "search_deals", "get_deal", "archive_deal"}
    assert wanted | {one.replace("deal", "contact") for one in wanted} == overlay.tools.keys()
    assert overlay.security.oauth
    assert overlay.security.oauth.token_url == "https://api.hubapi.com/oauth/v1/token"
    assert (overlay.tools["search_deals"].effect, overlay.tools["archive_deal"].effect) == ("reads", "destroys")
    first = {"results": [{"id": "1", "properties": {"dealname": "A"}}], "paging": {"next": {"after": "9", "link": "?"}}}
    sent, _ = converse(work_of(module(overlay), "search_deals", query="a"), first, {"results": []})
    assert [call.path for call in sent] == [f"{base}/0-3/search"] * 2
    assert [(call.json or {}).get("after") for call in sent] == [None, "9"]
    assert rows(overlay, "list_deals", first) == [{"id": "1", "properties": {"dealname": "A"}}]
    required = [name for name, one in overlay.tools["create_deal"].parameters.items() if one.required]
    assert required == ["properties"]
    made = {"id": "7", "properties": {"dealname": "B"}, "createdAt": "2026-01-31"}
    # The API answers with the record, its description has it in an envelope.
    assert rows(overlay, "create_deal", made) == [made]
    assert rows(overlay, "create_deal", {"createdResourceId": "7", "entity": made}) == [made]


INCIDENT = fields("id incident_number# title status urgency created_at html_url summary") | {}
INCIDENT["properties"] |= {
    "service": fields("id summary"),
    "assignments": {"type": "array", "items": {"type": "object", "properties": {"assignee": fields("id summary")}}},
}


def test_incidents_show_who_has_them_and_a_key_has_its_word_before_it() -> None:
    paged = ["limit", "offset", "statuses[]"]
    one = {"type": "object", "properties": {"incident": INCIDENT}}
    oncall = {"type": "object", "properties": {"user": fields("id summary"), "start": TEXT, "end": TEXT}}
    schemes = {"api_key": {"type": "apiKey", "name": "Authorization", "in": "header"}}
    operations = [
        operation("GET /incidents", lists("incidents", INCIDENT, fields("offset# limit#")["properties"]), query=paged),
        operation("GET /incidents/{id}", one),
        operation("POST /incidents/{id}/snooze", one, body=fields("duration#")),
        operation("PUT /incidents/{id}/merge", one, body=lists("source_incidents", fields("id type"))),
        operation("GET /oncalls", lists("oncalls", oncall), query=["limit", "offset"]),
        operation("GET /users/me", {"type": "object", "properties": {"user": fields("id name email")}}),
        operation("GET /rulesets", lists("rulesets", fields("id"))),
    ]
    overlay = overlay_of("pagerduty", {"a": described(schemes, *operations, servers=["https://api.pagerduty.com"])})
    assert {name: rule.effect for name, rule in overlay.tools.items()} == {
        "list_incidents": "reads",
        "get_incident": "reads",
        "snooze_incident": "writes",
        "merge_incidents": "destroys",
        "list_oncalls": "reads",
        "get_me": "reads",
    }
    assert module(overlay).credential.headers("KEY") == {"authorization": "Token token=KEY"}
    incident = {
        "id": "P1",
        "title": "It burns",
        "status": "triggered",
        "service": {"id": "S1", "summary": "Oven"},
        "assignments": [{"assignee": {"id": "U1", "summary": "Ada"}}],
    }
    shown = {"id": "P1", "title": "It burns", "status": "triggered", "service": "Oven", "assignees": ["Ada"]}
    assert rows(overlay, "list_incidents", {"incidents": [incident]}) == [shown]
    assert rows(overlay, "get_incident", {"incident": incident}) == [shown]
    oncalls = {"oncalls": [{"user": {"id": "U1", "summary": "Ada"}, "end": None, "escalation_level": 1}]}
    assert rows(overlay, "list_oncalls", oncalls) == [{"user_id": "U1", "user": "Ada", "escalation_level": 1}]


def test_a_help_desk_is_asked_at_the_address_of_its_customer() -> None:
    ticket = fields("id# subject status priority requester_id# updated_at description")
    one = {"type": "object", "properties": {"ticket": ticket}}
    page = {
        "name": "page",
        "in": "query",
        "style": "deepObject",
        "schema": {"oneOf": [NUMBER, fields("after before size#")]},
    }
    size = {"name": "per_page", "in": "query", "schema": NUMBER}
    operations = [
        operation("GET /api/v2/tickets", lists("tickets", ticket), query=["sort_by", page, size]),
        operation("POST /api/v2/tickets", one, body=one),
        operation("GET /api/v2/tickets/{ticket_id}", one),
        operation("PUT /api/v2/tickets/{ticket_id}", one, body=one),
        operation(
            "GET /api/v2/tickets/{ticket_id}/comments", lists("comments", fields("id# body plain_body author_id#"))
        ),
        operation("GET /api/v2/search", lists("results", fields("id# result_type url")), query=["query"]),
        operation("DELETE /api/v2/tickets/{ticket_id}/tags", None),
    ]
    schemes = {"basicAuth": {"type": "http", "scheme": "basic"}}
    files = {"oas": described(schemes, *operations, servers=["https://{subdomain}.{domain}.com"])}
    with pytest.raises(InvalidRequest, match="template; name it: --server"):
        overlay_of("zendesk", files)
    overlay = overlay_of("zendesk", files, "https://acme.zendesk.com")
    assert overlay.security.oauth
    assert overlay.security.oauth.authorize_url == "https://acme.zendesk.com/oauth/authorizations/new"
    assert len(overlay.tools) == len(operations) - 1
    found = {name: rule.operation for name, rule in overlay.tools.items()}
    assert found["update_ticket"] == "PUT /api/v2/tickets/{ticket_id}"
    pages = [{"tickets": [{"id": n, "subject": "It burns", "status": "open"} for n in range(2)]}, {"tickets": []}]
    sent, answer = converse(work_of(module(overlay), "list_tickets", page_size=2), *pages)
    assert [call.query for call in sent] == [{"per_page": 2}, {"per_page": 2, "page": 2}]
    assert [row["id"] for row in rows(overlay, "list_tickets", answer)] == [0, 1]
    assert rows(overlay, "get_ticket", {"ticket": {"id": 3, "subject": "It burns"}}) == [
        {"id": 3, "subject": "It burns"}
    ]
    (comments,) = [name for name, key in found.items() if key.endswith("/comments")]
    assert rows(overlay, comments, {"comments": [{"id": 5, "body": "Help"}]}) == [{"id": 5, "body": "Help"}]


SDL = """
type User { id: ID!, name: String!, displayName: String!, email: String!, active: Boolean!, admin: Boolean! }
type Team { id: ID!, key: String!, name: String!, timezone: String!, description: String }
type State { id: ID!, name: String! }
type Issue {
  id: ID!, identifier: String!, title: String!, state: State!, team: Team!, assignee: User, dueDate: String
  priorityLabel: String!, updatedAt: String!, url: String!, description: String, children: IssueConnection!
}
type PageInfo { hasNextPage: Boolean!, endCursor: String }
type IssueConnection { nodes: [Issue!]!, pageInfo: PageInfo! }
input IssueFilter { and: [IssueFilter!], number: Int }
input IssueCreateInput { title: String, teamId: String! }
type IssuePayload { success: Boolean!, lastSyncId: Float!, issue: Issue }
type Query {
  issues(after: String, before: String, filter: IssueFilter, first: Int, last: Int): IssueConnection!
  issue(id: String!): Issue!
  viewer: User!
  audits: String
}
type Mutation { issueCreate(input: IssueCreateInput!): IssuePayload!, issueDelete(id: String!): IssuePayload! }
"""


def test_a_tracker_of_issues_is_asked_in_graphql_page_by_page() -> None:
    overlay = overlay_of("linear_api", {"schema.graphql": SDL.encode()})
    assert {name: rule.effect for name, rule in overlay.tools.items()} == {
        "list_issues": "reads",
        "get_issue": "reads",
        "get_me": "reads",
        "create_issue": "writes",
        "delete_issue": "destroys",
    }
    assert overlay.host == "https://api.linear.app"
    issue = {"id": "i", "identifier": "ENG-42", "title": "It burns", "state": {"name": "Todo"}, "team": {"key": "ENG"}}
    page = {"nodes": [issue], "pageInfo": {"hasNextPage": True, "endCursor": "c"}}
    last = {"nodes": [issue], "pageInfo": {"hasNextPage": False}}
    work = work_of(module(overlay), "list_issues", filter={"number": 42})
    sent, answer = converse(work, {"data": {"issues": page}}, {"data": {"issues": last}})
    assert [(call.path, (call.json or {})["variables"].get("after")) for call in sent] == [
        ("/graphql", None),
        ("/graphql", "c"),
    ]
    assert "identifier" in sent[0].json["query"]
    shown = {"id": "i", "identifier": "ENG-42", "title": "It burns", "state": "Todo", "team": "ENG"}
    assert rows(overlay, "list_issues", answer) == [shown] * 2
    assert rows(overlay, "get_issue", {"data": {"issue": issue}}) == [shown]
    made = work_of(module(overlay), "create_issue", input={"teamId": "t", "title": "It burns"})
    assert isinstance(made, Call)
    assert made.json["variables"] == {"input": {"teamId": "t", "title": "It burns"}}
    refused = {"errors": [{"message": "too many", "extensions": {"code": "RATELIMITED"}}]}
    refusal = module(overlay).refusals.read(ServiceResponse(200, {}, refused))
    assert isinstance(refusal, RateLimited)
    assert isinstance(module(overlay).tools["get_me"], DescribedTool)
