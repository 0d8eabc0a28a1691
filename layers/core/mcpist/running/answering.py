"""Errors while an answer is made of what a tool has done."""

from collections.abc import Iterator
from contextlib import contextmanager

from mcpist.errors import McpistError
from mcpist.tools.declare.tool import Tool


@contextmanager
def answering(tool: Tool) -> Iterator[None]:
    """Add to an error that repeating the request could change something twice, unless the tool only reads."""
    try:
        yield
    except McpistError as error:
        raise error if tool.reads else error.with_details(may_have_happened=True) from None
