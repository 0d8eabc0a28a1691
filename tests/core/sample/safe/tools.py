"""A safe that few may see."""

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module

safe = Module("safe", __doc__, api_version="1", host="https://safe.example.com")


@safe.reads(shows("name"))
def list_jewels() -> Call:
    """List the jewels."""
    return Call("GET", "/jewels")
