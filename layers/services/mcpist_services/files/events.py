"""Our own events: files, batches, automations and saved batches."""

from mcpist.events.event_type import Argument, event_type

TYPES = (
    event_type(
        "files",
        "stored",
        "A large result, a download or an upload of yours was stored as a file.",
        tool="list",
        arguments={"content_type": Argument("content_type", "Only of this type, e.g. application/json")},
        payload="path sha256 size_bytes:integer content_type created_at",
    ),
    event_type(
        "batches",
        "finished",
        "All steps of a batch of yours have ended.",
        tool="",
        arguments={"outcome": Argument("outcome", "Only those that succeeded, or failed")},
        payload="batch outcome steps:object failed:list",
    ),
    event_type(
        "automations",
        "failed",
        "A run of an automation of yours failed, or was left out.",
        tool="",
        arguments={"automation": Argument("automation", "Only of this name")},
        payload="automation run state problem batch",
    ),
    event_type(
        "saved",
        "checked",
        "A saved batch of yours no longer passes its nightly check, or works again.",
        tool="list",
        arguments={
            "name": Argument("name", "Only of this name"),
            "state": Argument("state", "Only those that are broken, or working again"),
        },
        payload="name state problem",
    ),
)
