"""The source files of an Edge Function, which the service answers as parts of multipart/form-data."""

from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from mcpist.errors import ToolExecutionError
from mcpist.tools.declare.call import ServiceResponse


def source_files(answer: ServiceResponse) -> list[dict[str, Any]]:
    """Return the path and the text of each file."""
    kind = answer.headers.get("content-type", "")
    if not kind.startswith("multipart/"):
        problem = "it answers the function as a bundle, without its source files"
        raise ToolExecutionError(service="supabase", http_status=200, problem=problem)
    head = f"content-type: {kind}\r\n\r\n"
    message = BytesParser(policy=HTTP).parsebytes((head + str(answer.json or "")).encode(errors="replace"))
    parts = [(part.get_filename(), part.get_payload(decode=True)) for part in message.iter_parts()]
    return [
        {"path": path, "content": content.decode(errors="replace")}
        for path, content in parts
        if path and isinstance(content, bytes)
    ]
