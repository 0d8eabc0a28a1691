"""The body of a request, checked before the resolver reads it: its size, its media type and its JSON."""

import binascii
import json
from typing import Any, NoReturn

from mcpist.aws.http_request import HttpRequest
from mcpist.errors import InvalidRequest, UnsupportedMediaType

MAX_BODY_BYTES = 1_000_000
MAX_DESCRIPTION_BYTES = 4_500_000  # of an API, in an event of at most 6 MB
JSON_TYPE = "application/json"
JSON_LINES_TYPES = ("application/jsonl", "application/x-ndjson")
BATCHES_PATH = "/v1/batches"
MODULES_PATH = "/v1/modules"


def normalized(request: HttpRequest) -> dict[str, Any]:
    """Return the event with its body as JSON text, in UTF-8; JSON Lines are the commands of a batch."""
    event = dict(request.event) | {"isBase64Encoded": False}
    try:
        limit = MAX_DESCRIPTION_BYTES if request.path == MODULES_PATH else MAX_BODY_BYTES
        content = request.body(limit).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidRequest(field="body", problem="it is not text in UTF-8") from None
    if not content:
        return event | {"body": ""}
    media_type = request.headers.get("content-type", JSON_TYPE).partition(";")[0].strip().lower()
    if media_type in JSON_LINES_TYPES and request.path == BATCHES_PATH:
        content = json.dumps({"commands": content})
    elif media_type != JSON_TYPE:
        raise UnsupportedMediaType(media_type=media_type)
    _check(content)
    headers = {name: value for name, value in request.headers.items() if name != "content-type"}
    return event | {"body": content, "headers": headers | {"content-type": JSON_TYPE}}


def _check(content: str) -> None:
    """Refuse text that is not JSON, and numbers that JSON does not have."""
    try:
        value = json.loads(content, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest(field="body", problem="it has half of a surrogate pair") from None
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else f"it is not JSON ({error})"
        raise InvalidRequest(field="body", problem=problem) from None
    if not isinstance(value, dict):
        raise InvalidRequest(field="body", problem="it is not a JSON object")


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"JSON has no {text}")
