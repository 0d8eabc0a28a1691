"""The list of resources: the documents that there are, by pages, and only what the caller may read."""

import base64
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcp_endpoint import resources
from mcp_endpoint.resources import MAX_LISTED_RESOURCES
from mcpist.caller import Role
from mcpist.people import directory
from mcpist_services.rag.document_store import DocumentStore
from tests import members
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mocked_aws import make_once

PATHS = ["guides/100 %.md", *(f"notes/{number:03}.md" for number in range(MAX_LISTED_RESOURCES + 3)), "設計.md"]


@pytest.fixture
def documents(organization: str, login: LocalLogin) -> DocumentStore:
    """A store with more documents than a page has."""

    def write() -> None:
        for path in PATHS:
            DocumentStore.of(organization).write(path=path, text=f"# {path}\n\nHello.", replaces=None)

    DocumentStore.of.cache_clear()
    make_once(f"pages of documents of {login.issuer}", write)
    return DocumentStore.of(organization)


def pages(endpoint: EndpointClient) -> list[dict[str, Any]]:
    """Return all pages of the list."""
    found = [endpoint.request("resources/list")["result"]]
    while "nextCursor" in found[-1]:
        found.append(endpoint.request("resources/list", cursor=found[-1]["nextCursor"])["result"])
    return found


@pytest.mark.usefixtures("documents")
def test_documents_are_listed_by_pages_and_each_can_be_read(endpoint: EndpointClient) -> None:
    first, second = pages(endpoint)
    documents = [one for one in first["resources"] if not one["uri"].startswith("skill:")]
    assert (len(documents), first["cacheScope"], first["ttlMs"]) == (MAX_LISTED_RESOURCES, "private", 60_000)
    listed = [*documents, *second["resources"]]
    assert [one["name"] for one in listed] == PATHS
    for one in (listed[0], listed[-1]):
        (contents,) = endpoint.request("resources/read", uri=one["uri"])["result"]["contents"]
        text = f"# {one['name']}\n\nHello."
        assert contents["text"].endswith(text)
        assert (one["title"], one["mimeType"]) == (one["name"], "text/markdown")
        assert one["size"] == len(text.encode())


@pytest.mark.parametrize("denied", ["rag.list_docs", "rag.get_doc", "rag.resources.document"])
@pytest.mark.usefixtures("documents")
def test_a_caller_who_may_not_list_or_read_documents_sees_none(endpoint: EndpointClient, denied: str) -> None:
    members.put_role("acme", Role("members", ("rag",), deny=(denied,)))
    directory.access_cache.clear()
    assert pages(endpoint)[0]["resources"] == []


@pytest.mark.parametrize("place", ["", "7", "[1]", '["a", ""]', "[-1001, 1]", '{"a": 1, "b": 2}', "[" * 9_999])
@pytest.mark.usefixtures("documents")
def test_a_cursor_of_something_else_is_refused(endpoint: EndpointClient, place: str) -> None:
    cursor = base64.urlsafe_b64encode(place.encode()).decode() or "?"
    error = endpoint.request("resources/list", cursor=cursor)["error"]
    assert (error["code"], error["data"]["details"]["field"]) == (-32602, "cursor")


@pytest.mark.usefixtures("documents")
def test_a_cursor_past_the_last_list_leads_to_an_empty_page(endpoint: EndpointClient) -> None:
    answer = endpoint.request("resources/list", cursor=resources._cursor(9, ""))["result"]
    assert answer["resources"] == []
    assert "nextCursor" not in answer
