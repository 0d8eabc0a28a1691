"""What Confluence's stored description leaves out, by its pages.

https://developer.atlassian.com/cloud/confluence/rest/v2/ (blog posts, people) and
https://developer.atlassian.com/cloud/confluence/rest/v1/api-group-content---children-and-descendants/ (copies).
"""

from typing import Any

from tests.services.answers.operations import FLAG, MULTIPART, NUMBER, TEXT, add, listed, record

SITE = "https://acme.atlassian.net/wiki"
POST = {
    "id": "65551",
    "status": "current",
    "title": "We have moved",
    "spaceId": "98306",
    "version": {"number": 2},
    "_links": {"webui": "/spaces/ENG/blog/2026/01/31/65551", "base": SITE},
}
COPY = {
    "id": "65560",
    "type": "page",
    "status": "current",
    "title": "Release plan 2027",
    "_links": {"webui": "/spaces/ENG/pages/65560", "base": SITE},
}
PERSON = {"accountId": "712020:70035bdf", "displayName": "Aiko Tanaka", "email": "aiko@example.com"}
STORED = record(("representation", "value"), representation={"type": "string", "enum": ["storage"]}, value=TEXT)
STATUS = {"type": "string", "enum": ["current", "draft"]}
WRITING, CONTENT = ("write:page:confluence",), ("write:confluence-content",)


def add_operations(document: dict[str, Any]) -> None:
    """Add the operations that the tools use."""
    post = record(("spaceId",), spaceId=TEXT, status=STATUS, title=TEXT, body=STORED)
    place, flag = "/wiki/api/v2/blogposts", {"private": FLAG}
    add(document, "createBlogPost", f"POST {place}", scopes=WRITING, body=post, answer=POST, query=flag)
    version = record(("number",), number=NUMBER, message=TEXT)
    fields = {"id": TEXT, "status": STATUS, "title": TEXT, "body": STORED, "version": version}
    changed = record(tuple(fields), **fields)
    add(document, "updateBlogPost", f"PUT {place}/{{id}}", scopes=WRITING, body=changed, answer=POST)
    gone = ("delete:page:confluence",)
    add(document, "deleteBlogPost", f"DELETE {place}/{{id}}", scopes=gone, query={"draft": FLAG, "purge": FLAG})
    destination = record(
        ("type", "value"), type={"type": "string", "enum": ["space", "existing_page", "parent_page"]}, value=TEXT
    )
    copy = record(("destination",), pageTitle=TEXT, destination=destination, copyAttachments=FLAG, copyLabels=FLAG)
    add(document, "copyPage", "POST /wiki/rest/api/content/{id}/copy", scopes=CONTENT, body=copy, answer=COPY)
    wanted = record(("versionNumber",), versionNumber=NUMBER, message=TEXT, restoreTitle=FLAG)
    restore = record(("operationKey", "params"), operationKey={"type": "string", "enum": ["restore"]}, params=wanted)
    made, versions = {"number": 4, "message": "Back to version 3"}, "POST /wiki/rest/api/content/{id}/version"
    add(document, "restoreContentVersion", versions, scopes=CONTENT, body=restore, answer=made)
    trashed = ("delete:attachment:confluence",)
    add(document, "deleteAttachment", "DELETE /wiki/api/v2/attachments/{id}", scopes=trashed)
    _add_files(document)
    _add_restrictions(document)
    ids = record(("accountIds",), accountIds=listed(TEXT) | {"maxItems": 250})
    people, readers = {"results": [PERSON]}, ("read:user:confluence",)
    add(document, "createBulkUserLookup", "POST /wiki/api/v2/users-bulk", scopes=readers, body=ids, answer=people)


ACCOUNT = {"type": "known", "accountId": "5b10ac8d82e05b22cc7d4ef5", "displayName": "Aiko Tanaka"}
RESTRICTED = {
    "results": [
        {
            "operation": operation,
            "restrictions": {
                "user": {"results": [ACCOUNT]},
                "group": {"results": [{"type": "group", "name": "designers", "id": "2b0e2f3c"}]},
            },
        }
        for operation in ("read", "update")
    ]
}


def _add_restrictions(document: dict[str, Any]) -> None:
    place, reads = "/wiki/rest/api/content/{id}/restriction", ("read:content-details:confluence",)
    add(document, "getRestrictions", f"GET {place}", scopes=reads, answer=RESTRICTED)
    user = record(("type", "accountId"), type={"type": "string", "enum": ["known"]}, accountId=TEXT)
    group = record(("type", "id"), type={"type": "string", "enum": ["group"]}, id=TEXT)
    kinds = record(user=listed(user), group=listed(group))
    operation = {"type": "string", "enum": ["read", "update"]}
    body = listed(record(("operation", "restrictions"), operation=operation, restrictions=kinds))
    add(document, "updateRestrictions", f"PUT {place}", scopes=CONTENT, body=body, answer=RESTRICTED)


def _add_files(document: dict[str, Any]) -> None:
    place = "/wiki/rest/api/content/{id}/child/attachment"
    readers, writers = (
        ("read:attachment:confluence",),
        ("read:content-details:confluence", "write:attachment:confluence"),
    )
    download = f"GET {place}/{{attachmentId}}/download"
    add(document, "downloadAttatchment", download, scopes=readers, answer={})
    stored = {"id": "att98307", "title": "notes.txt", "version": {"number": 1}, "_links": {"webui": "/pages/65551"}}
    answer = {"results": [stored]}
    name = "createOrUpdateAttachments"
    add(document, name, f"PUT {place}", scopes=writers, body={}, answer=answer, media=MULTIPART)
