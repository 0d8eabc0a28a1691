"""Rows of the audit as events of the Open Cybersecurity Schema Framework, which collectors of logs read.

The class is API Activity (6003): https://schema.ocsf.io/1.5.0/classes/api_activity. What it has no attribute for is
under `unmapped`, with the names of our columns.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from mcpist.audit.rows import row_of
from mcpist.aws.attributes import Item, TypedItem, deserialize

OCSF_VERSION = "1.5.0"
CLASS, CATEGORY, BASE_CLASS = 6003, 6, 0
OTHER, UNKNOWN = 99, 0
_ACTIVITIES = {"connect": 1, "look": 2, "refresh": 3, "change": 3, "revoke": 4, "kill": 4}
"""Create, read, update and delete, where an event of ours says so; a use may be any of them."""
_STATUS = {"succeeded": (1, "Success"), "started": (OTHER, "Started")}
_FAILURE = (2, "Failure")
INFORMATIONAL, LOW = 1, 2
_UNMAPPED = (
    "request",
    "trace",
    "batch",
    "before",
    "after",
    "change",
    "measures",
    "door",
    "client_version",
    "client_id",
)


def as_ocsf_lines(rows: Iterable[Mapping[str, Any]], organization: str) -> str:
    """Return an organization's rows as JSON Lines of events."""
    return "".join(_line(as_event(row, organization)) for row in rows)


def stored_as_ocsf_line(typed: TypedItem) -> str:
    """Return an item, as a stream of the table sends it, as a line; one that nobody of ours wrote is sent as it is.

    It raises nothing: an item that cannot be read would stop the delivery of all rows after it.
    """
    try:
        item = deserialize(typed)
        return _line(as_event(row_of(item), organization_of(item)))
    except (AttributeError, KeyError, TypeError, ValueError):
        return _line(_unreadable(typed))


def organization_of(item: Item) -> str:
    """Return the organization of a row, which begins the key of its partition."""
    return str(item["pk"]).rpartition("#")[0]


def as_event(row: Mapping[str, Any], organization: str) -> dict[str, Any]:
    """Return a row as an event; `metadata.uid` is the row's id, by which one that is delivered twice is known."""
    activity = _ACTIVITIES.get(row["event"], OTHER)
    status, name = _STATUS.get(row["outcome"], _FAILURE)
    used = {"account": row["account"], "target": row["target"]}
    return {
        "activity_id": activity,
        "activity_name": row["event"],
        "category_uid": CATEGORY,
        "class_uid": CLASS,
        "type_uid": CLASS * 100 + activity,
        "time": int(datetime.fromisoformat(row["time"]).timestamp() * 1000),
        "severity_id": LOW if (status, name) == _FAILURE else INFORMATIONAL,
        "status_id": status,
        "status": name,
        "status_code": row["outcome"],
        "metadata": _metadata(row["id"], organization) | {"correlation_uid": row["correlation"]},
        "actor": {"user": {"uid": row["user"], "groups": [{"name": str(role)} for role in row["roles"]]}},
        "api": {"operation": row["tool"] or row["event"], "service": {"name": row["service"]}},
        "src_endpoint": {"svc_name": row["client_name"] or "unknown"},
        "resources": [{"type": kind, "name": value} for kind, value in used.items() if value],
        "unmapped": {column: row[column] for column in _UNMAPPED if row[column]},
    }


def _metadata(row: str, organization: str) -> dict[str, Any]:
    product = {"name": "MCPist", "vendor_name": "MCPist"}
    return {"version": OCSF_VERSION, "product": product, "log_name": "audit", "uid": row, "tenant_uid": organization}


def _unreadable(typed: TypedItem) -> dict[str, Any]:
    """Return an event of the base class with an item as DynamoDB has it."""
    key = " ".join(str(typed.get(name, {}).get("S", "")) for name in ("pk", "sk"))
    return {
        "activity_id": UNKNOWN,
        "category_uid": BASE_CLASS,
        "class_uid": BASE_CLASS,
        "type_uid": BASE_CLASS,
        "time": 0,
        "severity_id": UNKNOWN,
        "metadata": _metadata(key, ""),
        "raw_data": json.dumps(typed, ensure_ascii=False, default=repr),
    }


def _line(event: Mapping[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n"
