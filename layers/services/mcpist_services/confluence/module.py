"""Confluence: spaces, pages and blog posts as Markdown, comments, people, labels, files, tasks.

Reference: https://developer.atlassian.com/cloud/confluence/rest/v2/ and, for search and labels,
https://developer.atlassian.com/cloud/confluence/rest/v1/
"""

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import shows, value_at
from mcpist.tools.declare.call import Call, Calls, ServiceResponse, path_template
from mcpist.tools.declare.dialect import Refusals
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.paging import Paging, by_link
from mcpist.tools.declare.pasted import AddressParts, address_reader, from_url
from mcpist_services.atlassian.refusals import read_refusal
from mcpist_services.confluence.presentation import comment_text, storage, with_markdown

page_path = path_template("/wiki/api/v2/pages/{page_id}")


def next_link(answer: ServiceResponse) -> str | None:
    """Return the next page's address with plus signs escaped: a cursor has some, and unescaped they mean spaces."""
    link: str | None = value_at(answer.json, "_links.next")
    return link and link.replace("+", "%2B")


BY_CURSOR = by_link(next_link, "cursor")


def _page_path(item: Mapping[str, Any], _: Mapping[str, Any]) -> str | None:
    """Return the path that Confluence names for an item, else that of the page which the item is, or is on."""
    place = value_at(item, "_links.webui")
    if isinstance(place, str) and place.startswith("/"):
        return f"/wiki{place}"
    page = item.get("pageId") or (item.get("id") if item.get("type") == "page" else None)
    return f"/wiki/pages/viewpage.action?pageId={page}" if page else None


confluence = Module(
    "confluence",
    __doc__,
    api_version="2",
    host="https://api.atlassian.com/ex/confluence/{account}",
    labels={"*": ("internal",)},
    headers={"accept": "application/json"},
    paging=Paging("limit", 250, ("cursor",), BY_CURSOR),
    refusals=Refusals(read_refusal),
    scopes=Scopes(
        reads=("read:page:confluence",), writes=("write:page:confluence",), destroys=("delete:page:confluence",)
    ),
    page_path=_page_path,
    category="productivity",
    tags=("documents", "wiki"),
)

COMMENTS = Paging("limit", 250, ("cursor",), BY_CURSOR, comment_text)
CHANGED = shows("id", "status", "version.number as version", "url")
RESTORED = shows("number", "message")

_WIKI = r"https://(?P<site>[\w.-]+)/wiki/"
_IN_SPACE = rf"{_WIKI}spaces/(?P<space>~?[\w.-]+)"
_QUERY = rf"{_WIKI}[^?#]*\?(?:[^#]*&)?"
_PATTERNS = address_reader(
    _IN_SPACE,
    rf"{_IN_SPACE}/pages/(?:edit-v2/)?(?P<page_id>\d+)",
    rf"{_IN_SPACE}/blog/(?:edit-v2/|\d{{4}}/\d\d/\d\d/)?(?P<blog_post_id>\d+)",
    rf"{_QUERY}pageId=(?P<page_id>\d+)",
    rf"{_QUERY}pageVersion=(?P<version>\d+)",
    rf"{_QUERY}focusedCommentId=(?P<comment_id__parent_comment_id>\d+)",
    rf"{_WIKI}x/(?P<tiny>[\w-]+)",
)


def _read_address(address: str) -> AddressParts:
    """Read an address, and a short link: Base64 of the page's number, without the zeros at its end.

    https://support.atlassian.com/confluence/kb/how-to-programmatically-generate-the-tiny-link-of-a-confluence-page/
    """
    parts = dict(_PATTERNS(address))
    if tiny := parts.pop("tiny", ""):
        # Confluence has the two last digits of URL-safe Base64 the other way round.
        digits = tiny.translate(str.maketrans("-_", "_-")).ljust(11, "A")
        parts["page_id"] = parts["blog_post_id"] = str(int.from_bytes(urlsafe_b64decode(f"{digits[:11]}="), "little"))
    return parts


Id = Annotated[str, Field(pattern=r"^[0-9]+$")]
PageId = Annotated[
    Id,
    from_url(_read_address, "page_id", fills=("version",)),
    "The number in a page's address, e.g. 65551",
]
Title = Annotated[str, Field(min_length=1, max_length=255)]
PostId = Annotated[
    Id, from_url(_read_address, "blog_post_id", fills=("version",)), "The number in its address, e.g. 65551"
]
CommentId = Annotated[
    Id, from_url(_read_address, "comment_id__parent_comment_id"), "The id that list_comments shows, e.g. 131073"
]
SpaceId = Annotated[Id, "The id that list_spaces shows, which is not the key, e.g. 98306"]
Body = Annotated[str, "Markdown; also [@](mention:account-id), > [!info], [x](page:SPACE/Title), e.g. ## Goals"]
SpaceKey = Annotated[
    str, Field(pattern=r'^[^\s"/\\]+$', max_length=255), from_url(_read_address, "space"), "A space's key, e.g. ENG"
]
Dates = Literal["created-date", "-created-date", "modified-date", "-modified-date"]


def storage_body(text: str | None) -> dict[str, str] | None:
    """Return the body of a page or a comment in Confluence's storage format."""
    return None if text is None else {"representation": "storage", "value": storage(text)}


def send_with_markdown(call: Call) -> Calls:
    """Send a call, and return its JSON with the columns for readers."""
    return with_markdown((yield call).json)
