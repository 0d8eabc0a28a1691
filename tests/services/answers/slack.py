"""Slack's answers, and what its description of 2021 lacks by https://docs.slack.dev/reference/methods."""

from collections.abc import Iterator
from typing import Any

from tests.services.answers.amendments import confine

TS = "1512085950.000216"
CHANNEL = {
    "id": "C0123ABCD45",
    "name": "general",
    "name_normalized": "general",
    "is_channel": True,
    "is_private": False,
    "is_archived": False,
    "is_member": True,
    "num_members": 3,
    "last_read": "1502126650.228446",
    "created": 1449252889,
    "creator": "U012A3CDE",
    "topic": {"value": "Release on Friday", "creator": "", "last_set": 0},
    "purpose": {"value": "Everybody", "creator": "", "last_set": 0},
}
FILE = {
    "id": "F0S43PZDF",
    "created": 1531763342,
    "timestamp": 1531763342,
    "name": "report.csv",
    "title": "report.csv",
    "mimetype": "text/csv",
    "filetype": "csv",
    "pretty_type": "CSV",
    "user": "U061F7AUR",
    "size": 4,
    "url_private_download": "https://files.slack.com/files-pri/T012AB3C4-F0S43PZDF/download/report.csv",
    "permalink": "https://acme.slack.com/files/U061F7AUR/F0S43PZDF/report.csv",
    "preview": "id,name",
}
MESSAGE = {
    "type": "message",
    "user": "U061F7AUR",
    "bot_id": "B012AB3CD",
    "username": "deploys",
    "ts": TS,
    "thread_ts": TS,
    "reply_count": 2,
    "text": "It *works*, <@U012A3CDE>",
    "blocks": [
        {
            "type": "rich_text",
            "elements": [
                {
                    "type": "rich_text_section",
                    "elements": [
                        {"type": "text", "text": "It "},
                        {"type": "text", "text": "works", "style": {"bold": True}},
                        {"type": "text", "text": ", "},
                        {"type": "user", "user_id": "U012A3CDE"},
                    ],
                }
            ],
        }
    ],
    "reactions": [{"name": "thumbsup", "users": ["U012A3CDE"], "count": 1}],
}
USER = {
    "id": "U012A3CDE",
    "team_id": "T012AB3C4",
    "name": "aiko",
    "real_name": "Aiko Sato",
    "deleted": False,
    "is_bot": False,
    "tz": "Asia/Tokyo",
    "profile": {
        "real_name": "Aiko Sato",
        "display_name": "Aiko",
        "email": "aiko@example.com",
        "title": "Designer",
        "status_text": "Away",
    },
}
NEXT = {"response_metadata": {"next_cursor": "bmV4dA=="}}
ANSWERS: dict[str, Any] = {
    "reminders.list": {
        "ok": True,
        "reminders": [
            {
                "id": "Rm12345678",
                "creator": "U18888888",
                "user": "U18888888",
                "text": "Send the invoice",
                "recurring": False,
                "time": 1602288000,
                "complete_ts": 0,
            }
        ],
    },
    "conversations.info": {"ok": True, "channel": CHANNEL},
    "conversations.history": lambda _: {"ok": True, "has_more": True, "messages": [MESSAGE], **NEXT},
    "conversations.replies": lambda _: {
        "ok": True,
        "has_more": True,
        "messages": [MESSAGE | {"files": [FILE]}],
        **NEXT,
    },
    "users.list": {"ok": True, "members": [USER], **NEXT},
    "users.info": {"ok": True, "user": USER},
    "files.info": {"ok": True, "file": FILE, "content": "id,name"},
    "files.list": {"ok": True, "files": [FILE], "paging": {"count": 50, "page": 1, "pages": 2, "total": 51}},
}
ANSWERS["users.conversations"] = {"ok": True, "channels": [CHANNEL]}
ANSWERS["usergroups.list"] = {
    "ok": True,
    "usergroups": [
        {
            "id": "S0614TZR7",
            "name": "Team Admins",
            "handle": "admins",
            "description": "All administrators",
            "user_count": 2,
            "date_create": 1446598059,
        }
    ],
}
ORIGINS = {"https://files.slack.com": "OK - 11"}
_OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "additionalProperties": True}

_WRITES = (
    ("conversations.leave", "channels:write", ("channel",)),
    ("conversations.kick", "channels:write", ("channel", "user")),
    ("conversations.unarchive", "channels:write", ("channel",)),
    ("files.delete", "files:write", ("file",)),
)


def amend(document: dict[str, Any]) -> None:
    """Bring the description up to date: many fields that it calls required, its own examples leave out."""
    paths = document["paths"]
    for answered in (document["components"]["schemas"], *_answers(paths)):
        _open(answered)
    for operation in (one for path in paths.values() for one in path.values()):
        for scopes in (way for way in operation.get("security", []) if way.get("slackAuth")):
            scopes["slackAuth"] = [_renamed(scope) for scope in scopes["slackAuth"]]
    confine(document, "/search.messages", "sort", ("score", "timestamp"))
    for method in ("postMessage", "update", "scheduleMessage"):
        fields = _fields(paths, f"/chat.{method}")
        fields["blocks"] = {"type": "array", "items": {"type": "object"}, "maxItems": 50}  # in JSON, no text of it
        if "thread_ts" in fields:
            fields["thread_ts"] = {"type": "string"}  # a number would lose digits
    _fields(paths, "/users.profile.set")["profile"] = {"type": "object"}
    _fields(paths, "/conversations.mark")["ts"] = {"type": "string"}  # a number would lose digits
    _fields(paths, "/chat.scheduleMessage")["post_at"] = {"type": "integer"}
    _fields(paths, "/chat.delete")["ts"] = {"type": "string"}
    paths["/files.getUploadURLExternal"] = _reading(
        "files.getUploadURLExternal",
        [_parameter("filename", "string"), _parameter("length", "integer")],
        {"ok": True, "upload_url": "https://files.slack.com/upload/v1/ABC123", "file_id": "F0S43PZDF"},
    )
    paths["/files.completeUploadExternal"] = _completing()
    for place, scope, fields in _WRITES:
        paths[f"/{place}"] = {"post": _writing(place, scope, fields)}


def _renamed(scope: str) -> str:
    """Return a scope of 2021 by today's name: those of bots and people are one."""
    return scope.removesuffix(":bot").removesuffix(":user") if scope.startswith("chat:write:") else scope


def _answers(paths: dict[str, Any]) -> Iterator[Any]:
    for operations in paths.values():
        yield from (operation["responses"] for operation in operations.values())


def _open(schema: Any) -> None:
    """Let an answer leave out every field, and have more."""
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _open(value)
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        schema.pop("required", None)
        schema["additionalProperties"] = True


def _fields(paths: dict[str, Any], path: str) -> dict[str, Any]:
    body: dict[str, Any] = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    return body


def _parameter(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": True, "schema": {"type": kind}}


def _reading(operation: str, parameters: list[dict[str, Any]], example: Any) -> dict[str, Any]:
    described = {"operationId": operation, "parameters": parameters, "responses": _responses(example)}
    return {"get": described | {"security": [{"slackAuth": ["files:write"]}]}}


def _completing() -> dict[str, Any]:
    files = {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}, "title": {"type": "string"}},
            "additionalProperties": False,
        },
    }
    texts = {name: {"type": "string"} for name in ("channel_id", "thread_ts", "initial_comment")}
    schema = {"type": "object", "required": ["files"], "properties": {"files": files, **texts}}
    body = {"content": {"application/json": {"schema": schema | {"additionalProperties": False}}}}
    answer = {"ok": True, "files": [{"id": "F0S43PZDF", "title": "report.csv"}]}
    operation = {"operationId": "files.completeUploadExternal", "requestBody": body, "responses": _responses(answer)}
    return {"post": operation | {"security": [{"slackAuth": ["files:write"]}]}}


def _writing(operation: str, scope: str, fields: tuple[str, ...]) -> dict[str, Any]:
    texts = {name: {"type": "string"} for name in fields}
    schema = {"type": "object", "required": [*fields], "properties": texts, "additionalProperties": False}
    body = {"content": {"application/json": {"schema": schema}}}
    return {
        "operationId": operation,
        "requestBody": body,
        "responses": _responses({"ok": True}),
        "security": [{"slackAuth": [scope]}],
    }


def _responses(example: Any) -> dict[str, Any]:
    return {"200": {"description": "", "content": {"application/json": {"schema": _OK, "example": example}}}}
