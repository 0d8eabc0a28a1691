"""The documentation, whose search is open to everybody and gets no token.

Reference: https://supabase.com/docs/guides/getting-started/mcp
"""

from typing import Annotated

from pydantic import Field

from mcpist.errors import ToolExecutionError
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls
from mcpist_services.supabase.module import DOCUMENTATION, supabase

MAX_CHARACTERS = 4_000  # of one page's text, which is long
SEARCH = (
    "query Search($query: String!, $limit: Int) {searchDocs(query: $query, limit: $limit) {nodes {title href content}}}"
)


@supabase.reads(shows("title", "href as url", "content", rows="nodes"), "search-docs")
def search_docs(
    query: Annotated[str, Field(min_length=1), "e.g. row level security policies"],
    pages: Annotated[int, Field(ge=1, le=20), "At most so many"] = 5,
) -> Calls:
    """Search Supabase's own documentation, and show the beginning of each page found."""
    body = {"query": SEARCH, "variables": {"query": query, "limit": pages}}
    found = (yield Call("POST", "/docs/api/graphql", json=body, origin=DOCUMENTATION)).json
    if "errors" in found:
        raise ToolExecutionError(service="supabase", http_status=200, problem=str(found["errors"][0]["message"]))
    nodes = found["data"]["searchDocs"]["nodes"]
    return {"nodes": [{**node, "content": (node["content"] or "")[:MAX_CHARACTERS]} for node in nodes]}
