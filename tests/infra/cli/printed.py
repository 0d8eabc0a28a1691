"""The JSON document of a command, checked by its published schema."""

import json
from typing import Any

from mcpist.files.reference import ErrorResponse, StandardResponse, check


def printed(line: str) -> dict[str, Any]:
    """Return the document of a line; InvalidRequest names what the schema refuses."""
    document: dict[str, Any] = json.loads(line)
    check(StandardResponse if document["success"] else ErrorResponse, document, "answer")
    return document
