"""Notion's answers: a page with a property of every type, its blocks, and what writing brings."""

from copy import deepcopy
from typing import Any

from mcpist_services.notion.tools.blocks import FILE_EXAMPLE
from tests.services.answers.notion_operations import add_operations

FILES = "https://prod-files-secure.s3.us-west-2.amazonaws.com"
ORIGINS = {FILES: None}  # files, each at an address with a signature
PAGE_ID = "59833787-2cf9-4fdf-8782-e53db20768a5"
SOURCE_ID = "d9824bdc-8445-4327-be8b-5b47500af6ce"
USER_ID = "d40e767c-d7af-4b18-a86d-55c61f1e39a4"
NEXT = "7cab1e9f-4f0c-4d0b-93a4-5d1b7f3f5a11"
TIME = "2026-01-31T09:00:00.000Z"
USER = {"object": "user", "id": USER_ID}
ADA = {**USER, "type": "person", "person": {"email": "ada@example.com"}, "name": "Ada", "avatar_url": None}
PLAIN = {"bold": False, "italic": False, "strikethrough": False, "underline": False, "code": False, "color": "default"}


def text(content: str, link: str | None = None, **marks: Any) -> dict[str, Any]:
    """A text as Notion answers it."""
    return {
        "type": "text",
        "text": {"content": content, "link": {"url": link} if link else None},
        "annotations": PLAIN | marks,
        "plain_text": content,
        "href": link,
    }


def block(kind: str, number: int = 0, *, inside: bool = False, **own: Any) -> dict[str, Any]:
    """A block as Notion answers it."""
    return {
        "object": "block",
        "id": f"c02fc1d3-db8b-45c5-a222-{number:012}",
        "parent": {"type": "page_id", "page_id": PAGE_ID},
        "created_time": TIME,
        "created_by": USER,
        "last_edited_time": TIME,
        "last_edited_by": USER,
        "has_children": inside,
        "in_trash": False,
        "type": kind,
        kind: own,
    }


def listed(*results: Any, following: str | None = None, **more: Any) -> dict[str, Any]:
    """A page of a list."""
    return {"object": "list", "results": list(results), "next_cursor": following, "has_more": bool(following), **more}


PROPERTIES: dict[str, Any] = {
    "Name": {"id": "title", "type": "title", "title": [text("Road"), text("map", bold=True)]},
    "Notes": {"id": "a", "type": "rich_text", "rich_text": [text("Ask "), text("Ada", "https://example.com")]},
    "Price": {"id": "b", "type": "number", "number": 12.5},
    "Link": {"id": "c", "type": "url", "url": "https://example.com"},
    "Stage": {"id": "d", "type": "select", "select": {"id": "1", "name": "Beta", "color": "red"}},
    "Tags": {"id": "e", "type": "multi_select", "multi_select": [{"id": "2", "name": "ui", "color": "red"}]},
    "Status": {"id": "f%3A", "type": "status", "status": {"id": "3", "name": "In progress", "color": "blue"}},
    "Due": {"id": "g", "type": "date", "date": {"start": "2026-01-31", "end": "2026-02-02", "time_zone": None}},
    "Mail": {"id": "h", "type": "email", "email": "ada@example.com"},
    "Phone": {"id": "i", "type": "phone_number", "phone_number": None},
    "Open": {"id": "j", "type": "checkbox", "checkbox": False},
    "Files": {
        "id": "k",
        "type": "files",
        "files": [{"name": "plan.pdf", "type": "external", "external": {"url": "https://example.com/plan.pdf"}}],
    },
    "Author": {"id": "l", "type": "created_by", "created_by": ADA},
    "Made": {"id": "m", "type": "created_time", "created_time": TIME},
    "Editor": {"id": "n", "type": "last_edited_by", "last_edited_by": USER},
    "Edited": {"id": "o", "type": "last_edited_time", "last_edited_time": TIME},
    "Days": {"id": "p", "type": "formula", "formula": {"type": "number", "number": 3}},
    "Key": {"id": "q", "type": "unique_id", "unique_id": {"prefix": "ENG", "number": 42}},
    "Go": {"id": "r", "type": "button", "button": {}},
    "Checked": {
        "id": "s",
        "type": "verification",
        "verification": {"state": "unverified", "date": None, "verified_by": None},
    },
    "Where": {"id": "t", "type": "place", "place": {"lat": 35.6, "lon": 139.7, "name": "Tokyo"}},
    "People": {"id": "u", "type": "people", "people": [ADA, USER]},
    "Tasks": {"id": "v%5C", "type": "relation", "relation": [{"id": PAGE_ID}]},
    "Sum": {"id": "w", "type": "rollup", "rollup": {"type": "number", "number": 7, "function": "sum"}},
    "Owners": {
        "id": "x",
        "type": "rollup",
        "rollup": {
            "type": "array",
            "array": [{"type": "people", "people": [ADA]}, {"type": "status", "status": None}],
            "function": "show_original",
        },
    },
}
PAGE: dict[str, Any] = {
    "object": "page",
    "id": PAGE_ID,
    "created_time": TIME,
    "last_edited_time": TIME,
    "created_by": USER,
    "last_edited_by": USER,
    "in_trash": False,
    "is_archived": False,
    "is_locked": False,
    "icon": None,
    "cover": None,
    "parent": {"type": "data_source_id", "data_source_id": SOURCE_ID, "database_id": PAGE_ID},
    "properties": PROPERTIES,
    "url": "https://www.notion.so/Roadmap-598337872cf94fdf8782e53db20768a5",
    "public_url": None,
}
SOURCE: dict[str, Any] = {
    "object": "data_source",
    "id": SOURCE_ID,
    "title": [text("Tasks")],
    "description": [],
    "parent": {"type": "database_id", "database_id": PAGE_ID},
    "database_parent": {"type": "workspace", "workspace": True},
    "is_inline": False,
    "in_trash": False,
    "created_time": TIME,
    "last_edited_time": TIME,
    "created_by": USER,
    "last_edited_by": USER,
    "icon": None,
    "cover": None,
    "url": "https://www.notion.so/248104cd477e80fdb757e945d38000bd",
    "public_url": None,
    "properties": {
        "Name": {"id": "title", "name": "Name", "description": None, "type": "title", "title": {}},
        "Status": {
            "id": "f%3A",
            "name": "Status",
            "description": None,
            "type": "status",
            "status": {
                "options": [
                    {"id": "3", "name": "In progress", "color": "blue", "description": None},
                    {"id": "4", "name": "Done", "color": "green", "description": None},
                ],
                "groups": [],
            },
        },
        "Due": {"id": "g", "name": "Due", "description": None, "type": "date", "date": {}},
        "Tasks": {
            "id": "v%5C",
            "name": "Tasks",
            "description": None,
            "type": "relation",
            "relation": {
                "database_id": PAGE_ID,
                "data_source_id": SOURCE_ID,
                "type": "single_property",
                "single_property": {},
            },
        },
    },
}
COMMENT: dict[str, Any] = {
    "object": "comment",
    "id": "94cc56ab-9f02-409d-9f99-1037e9fe502f",
    "parent": {"type": "page_id", "page_id": PAGE_ID},
    "discussion_id": "f1407351-36f5-4c49-a13c-49f8ba11776d",
    "created_time": TIME,
    "last_edited_time": TIME,
    "created_by": USER,
    "rich_text": [text("Looks "), text("good", bold=True)],
    "display_name": {"type": "user", "resolved_name": "Ada"},
}


def _children(call: Any) -> dict[str, Any]:
    words = [text("Ship it")]
    if call.params["block_id"] == PAGE_ID:
        return listed(
            block("heading_2", 1, rich_text=words, color="default", is_toggleable=False),
            block("bulleted_list_item", 2, inside=True, rich_text=words, color="default"),
            type="block",
            block={},
        )
    return listed(block("paragraph", 3, rich_text=words, color="default", icon=None), type="block", block={})


def _block(call: Any) -> dict[str, Any]:
    """The block that is asked for: a file, or a heading."""
    if call.params["block_id"] != FILE_EXAMPLE:
        return block("heading_2", 1, rich_text=[text("Plan")], color="default", is_toggleable=False)
    stored = {"url": f"{FILES}/notes.txt?X-Amz-Signature=a1", "expiry_time": TIME}
    return block("file", 1, caption=[], type="file", file=stored, name="notes.txt") | {"id": FILE_EXAMPLE}


def _appended(call: Any) -> dict[str, Any]:
    made = [{"object": "block", "id": block("paragraph", n)["id"]} for n, _ in enumerate(call.json["children"])]
    return listed(*made, type="block", block={})


def _found(*things: Any) -> Any:
    """A page of these, made anew each time, since items are given their rows in place."""
    kind = {"type": "page_or_data_source", "page_or_data_source": {}}
    return lambda _: listed(*map(deepcopy, things), following=NEXT, **kind)


ANSWERS: dict[str, Any] = {
    "post-search": _found(PAGE, SOURCE),
    "post-database-query": _found(PAGE),
    "list-comments": lambda _: listed(deepcopy(COMMENT), following=NEXT, type="comment", comment={}),
    "get-users": listed(ADA, following=NEXT, type="user", user={}),
    "retrieve-a-page": PAGE,
    "post-page": PAGE,
    "patch-page": PAGE,
    "move-page": PAGE,
    "retrieve-a-data-source": SOURCE,
    "update-a-data-source": SOURCE,
    "list-data-source-templates": {
        "templates": [{"id": PAGE_ID, "name": "Bug", "is_default": True}],
        "has_more": True,
        "next_cursor": NEXT,
    },
    "retrieve-a-page-property": {
        **listed({"object": "property_item", "id": "v%5C", "type": "relation", "relation": {"id": PAGE_ID}}),
        "type": "property_item",
        "property_item": {"id": "v%5C", "type": "relation", "relation": {}, "next_url": None},
    },
    "retrieve-page-markdown": {
        "object": "page_markdown",
        "id": PAGE_ID,
        "markdown": "# Roadmap\n- Ship it",
        "truncated": False,
        "unknown_block_ids": [],
    },
    "retrieve-a-block": _block,
    "update-a-block": block("heading_2", 1, rich_text=[text("Plan")], color="default", is_toggleable=False),
    "get-block-children": _children,
    "patch-block-children": _appended,
}

# A page of about 2,000 characters of JSON.
SMALL_PAGE = [
    block("heading_2", 1, rich_text=[text("Release")], color="default", is_toggleable=False),
    block(
        "paragraph",
        2,
        rich_text=[
            text("We ship every second Monday, after the tests of "),
            text("all", bold=True),
            text(" teams."),
        ],
        color="default",
        icon=None,
    ),
]


def amend(document: dict[str, Any]) -> None:
    """Add what the description leaves out."""
    add_operations(document)
