"""A stub service: tools that answer at once, and tools that need a grant, some of them for what takes a while."""

from mcpist.render.shows import shows
from mcpist.tools.call import Call, Lookup
from mcpist.tools.module import Module

HOST = "http://stub.invalid"  # the bench writes its own service's address here

stub = Module("stub", __doc__, api_version="1", host=HOST, open_store=lambda _: None)


def nothing(_: None) -> list[str]:
    """No rows."""
    return []


@stub.reads(shows("name"))
def idle() -> Lookup:
    """Answer at once."""
    return Lookup(nothing)


def many(_: None) -> list[dict[str, int]]:
    """A hundred rows."""
    return [{"name": number} for number in range(100)]


@stub.reads(shows("name"))
def hundred() -> Lookup:
    """Answer a hundred rows at once."""
    return Lookup(many)


@stub.reads(shows("name"))
def ask() -> Call:
    """Ask the stub's service with the caller's grant."""
    return Call("GET", "/")


@stub.reads(shows("name"))
def ask_slowly() -> Call:
    """Ask the stub's service for what takes it a while."""
    return Call("GET", "/slow")


@stub.reads(shows("name", "account"))
def ask_about(name: str) -> Call:
    """Ask the stub's service about a name, for rows that say by whose account they were asked."""
    return Call("GET", "/about", query={"name": name})
