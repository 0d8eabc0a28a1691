"""What Notion's stored description leaves out, by https://developers.notion.com/guides/data-apis/working-with-views."""

from typing import Any

from tests.services.answers.operations import MULTIPART, NUMBER, TEXT, add, record

VIEW_ID = "a3f1b2c4-5678-4def-abcd-1234567890ab"
DATABASE_ID = "248104cd-477e-80fd-b757-e945d38000bd"
VIEW = {
    "object": "view",
    "id": VIEW_ID,
    "parent": {"type": "database_id", "database_id": DATABASE_ID},
    "data_source_id": "d9824bdc-8445-4327-be8b-5b47500af6ce",
    "name": "My tasks",
    "type": "table",
    "filter": {"property": "Status", "status": {"equals": "In progress"}},
    "sorts": [{"property": "Due", "direction": "ascending"}],
    "url": f"https://www.notion.so/248104cd477e80fdb757e945d38000bd?v={VIEW_ID.replace('-', '')}",
}
LAYOUTS = ("table", "board", "list", "calendar", "timeline", "gallery", "form", "chart", "map", "dashboard")


def add_operations(document: dict[str, Any]) -> None:
    """Add the operations that the tools use."""
    stubs = {"object": "list", "results": [{"object": "view", "id": VIEW_ID}], "next_cursor": None, "has_more": False}
    query = {"database_id": TEXT, "data_source_id": TEXT, "start_cursor": TEXT, "page_size": NUMBER}
    add(document, "list-views", "GET /v1/views", answer=stubs, query=query)
    add(document, "retrieve-a-view", "GET /v1/views/{view_id}", answer=VIEW)
    layout = {"type": "string", "enum": list(LAYOUTS)}
    fields = {"database_id": TEXT, "data_source_id": TEXT, "name": TEXT, "type": layout}
    upload = {"id": "b52b8ed6-e029-4707-a671-832549c09de3", "object": "file_upload", "status": "pending"}
    described = record(("mode", "filename"), mode={"enum": ["single_part"]}, filename=TEXT, content_type=TEXT)
    add(document, "create-file-upload", "POST /v1/file_uploads", body=described, answer=upload)
    place = "POST /v1/file_uploads/{file_upload_id}/send"
    add(document, "send-file-upload", place, body={}, answer=upload, media=MULTIPART)
    rows = document["paths"]["/v1/data_sources/{data_source_id}/query"]["post"]["requestBody"]["content"]
    asked = rows["application/json"]["schema"]["properties"]
    view = record(tuple(fields), **fields, filter=asked["filter"], sorts=asked["sorts"])
    add(document, "create-view", "POST /v1/views", body=view, answer=VIEW)
