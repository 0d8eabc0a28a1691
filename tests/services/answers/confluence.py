"""Confluence's answers, and two corrections of its descriptions."""

from dataclasses import replace
from typing import Any

from mcpist.tools.declare.call import Call, ServiceResponse
from tests.services.answers.amendments import confine, confine_field
from tests.services.answers.confluence_operations import PERSON, add_operations

SITE = "https://acme.atlassian.net/wiki"
PAGE: dict[str, Any] = {
    "id": "65551",
    "status": "current",
    "title": "Release plan",
    "spaceId": "98306",
    "parentId": "65549",
    "parentType": "page",
    "authorId": "712020:70035bdf",
    "createdAt": "2026-01-30T09:00:00.000Z",
    "version": {"number": 4, "message": "", "minorEdit": False, "createdAt": "2026-01-31T09:00:00.000Z"},
    "body": {
        "storage": {"representation": "storage", "value": "<h2>Goals</h2><p>We ship on <strong>Friday</strong>.</p>"}
    },
    "_links": {"webui": "/spaces/ENG/pages/65551/Release+plan", "base": SITE},
}
FOUND: dict[str, Any] = {
    "title": "@@@hl@@@Release@@@endhl@@@ plan",
    "excerpt": "We @@@hl@@@release@@@endhl@@@ R&amp;D\non Friday",
    "url": "/spaces/ENG/pages/65551/Release+plan",
    "entityType": "content",
    "iconCssClass": "aui-icon",
    "lastModified": "2026-01-31T09:00:00.000Z",
    "breadcrumbs": [],
    "content": {
        "id": "65551",
        "type": "page",
        "status": "current",
        "title": "Release plan",
        "space": {
            "key": "ENG",
            "name": "Engineering",
            "type": "global",
            "status": "current",
            "_expandable": {},
            "_links": {},
        },
    },
    "resultGlobalContainer": {"title": "Engineering", "displayUrl": "/spaces/ENG"},
}

INLINE: dict[str, Any] = {
    "id": "131074",
    "status": "current",
    "title": "Re: Release plan",
    "pageId": "65551",
    "version": {"number": 1, "createdAt": "2026-01-31T10:00:00.000Z", "authorId": "712020:70035bdf"},
    "body": {"storage": {"representation": "storage", "value": "<p>Really?</p>"}},
    "resolutionStatus": "open",
    "properties": {"inlineMarkerRef": "a1", "inlineOriginalSelection": "Friday"},
    "_links": {"webui": "/spaces/ENG/pages/65551?focusedCommentId=131074"},
}

ANSWERS: dict[str, Any] = {
    "getFooterCommentById": {
        name: value for name, value in INLINE.items() if name not in {"properties", "resolutionStatus"}
    },
    "getInlineCommentById": INLINE,
    "getBlogPostById": {
        **{name: value for name, value in PAGE.items() if not name.startswith("parent")},
        "createdAt": "2026-01-30T10:00:00.000Z",
    },
    "searchUser": {
        "results": [
            {
                "user": PERSON | {"type": "known", "accountType": "atlassian"},
                "title": "Aiko Tanaka",
                "excerpt": "",
                "url": "/people/712020:70035bdf",
                "breadcrumbs": [],
                "entityType": "user",
                "iconCssClass": "",
                "lastModified": "2026-01-31T10:00:00.000Z",
            }
        ],
        "start": 0,
        "limit": 50,
        "size": 1,
        "totalSize": 2,
        "cqlQuery": "user.fullname ~ Aiko",
        "searchDuration": 12,
        "_links": {"base": SITE},
    },
    "getPageById": PAGE,
    "createPage": PAGE,
    "updatePage": PAGE,
    "searchByCQL": {
        "results": [FOUND],
        "start": 0,
        "limit": 25,
        "size": 1,
        "totalSize": 2,
        "cqlQuery": "type = page",
        "searchDuration": 12,
        "_links": {"base": SITE, "next": "/rest/api/search?next=true&cursor=_sa_Wyc%3D&limit=1&start=1&cql=type"},
    },
    "getPageInlineComments": {
        "results": [INLINE],
        "_links": {"base": SITE, "next": "/wiki/api/v2/pages/65551/inline-comments?limit=1&cursor=eyJpZCI6MX0%3D"},
    },
}


def amend(document: dict[str, Any]) -> None:
    """State the values that the description gives in its text alone, or in a place where they do not count."""
    order = document["components"]["schemas"]["ContentSortOrder"]["enum"]
    confine(document, "/wiki/api/v2/pages/{id}/direct-children", "sort", order)
    # https://developer.atlassian.com/cloud/confluence/rest/v1/api-group-content-labels/
    add_operations(document)
    confine_field(document, "V1.LabelCreate", "prefix", ("global", "my", "team"))


def with_next_page(call: Call, response: ServiceResponse) -> ServiceResponse:
    """Add the link to the next page, unless the answer has one with a cursor."""
    links = response.json.get("_links", {})
    if "cursor=" in links.get("next", ""):
        return response
    return replace(response, json=response.json | {"_links": links | {"next": f"{call.path}?cursor=eyJpZCI6MX0%3D"}})
