"""A stub service: tools that answer at once, and tools that need a grant, of which some are slow."""

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Lookup
from mcpist.tools.declare.module import Module

HOST = "http://stub.invalid"  # the benchmark replaces the address by that of its service

stub = Module("stub", __doc__, api_version="1", host=HOST, open_store=lambda _: None)


def nothing(_: None) -> list[str]:
    """Return no rows."""
    return []


@stub.reads(shows("name"))
def idle() -> Lookup:
    """Answer at once."""
    return Lookup(nothing)


def many(_: None, rows: int = 100) -> list[dict[str, int]]:
    """Return so many rows."""
    return [{"name": number} for number in range(rows)]


@stub.reads(shows("name"))
def hundred() -> Lookup:
    """Answer a hundred rows at once."""
    return Lookup(many)


@stub.reads(shows("name"))
def number(rows: int) -> Lookup:
    """Answer so many rows at once."""
    return Lookup(many, rows=rows)


@stub.reads(shows("name"))
def ask() -> Call:
    """Ask the stub's service with the caller's grant."""
    return Call("GET", "/")


@stub.reads(shows("name"))
def ask_slowly() -> Call:
    """Ask the stub's service for a slow answer."""
    return Call("GET", "/slow")


@stub.reads(shows("name"))
def wait(step: str, seconds: float) -> Call:
    """Ask the stub's service for an answer after some seconds."""
    return Call("GET", "/wait", query={"step": step, "seconds": seconds})


@stub.writes(shows("name"))
def note(name: str) -> Call:
    """Note a name at the stub's service."""
    return Call("POST", "/note", json={"name": name})


@stub.reads(shows("name", "account"))
def ask_about(name: str) -> Call:
    """Ask the stub's service about a name; its rows name the account that asked."""
    return Call("GET", "/about", query={"name": name})
