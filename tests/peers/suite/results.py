"""Results and questions as the protocol's JSON."""

from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


def text(says: str, *, is_error: bool = False) -> dict[str, Any]:
    return blocks({"type": "text", "text": says}, is_error=is_error)


def blocks(*content: dict[str, Any], is_error: bool = False) -> dict[str, Any]:
    return {"resultType": "complete", "content": list(content), "isError": is_error}


def resource(uri: str, kind: str, says: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": says}}


def form(name: str, kind: str = "string") -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    params = {"mode": "form", "message": f"Your {name}?", "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sampling(says: str) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": says}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
