"""Tools that leave traces on this machine, so that tests can count what really happened."""

from collections.abc import Mapping
from pathlib import Path

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Lookup
from mcpist.tools.declare.module import Module

probe = Module("probe", __doc__, api_version="1", open_store=lambda _: None)

TRACE = shows("file", "size")


def append(_: None, file: str) -> dict[str, object]:
    """One more character in a file."""
    with Path(file).open("a") as trace:
        trace.write("x")
    return {"file": file, "size": Path(file).stat().st_size}


def wait_for(_: None, file: str, gate: str) -> dict[str, object]:
    """A trace at once, and an answer as soon as somebody writes into the gate, a named pipe."""
    append(None, file)
    Path(gate).read_text()
    return {"file": file, "size": Path(file).stat().st_size}


@probe.reads(TRACE)
def look(file: str) -> Lookup:
    """Leave a trace and say that it was only a look."""
    return Lookup(append, file=file)


@probe.reads(TRACE)
def look_long(file: str, gate: str) -> Lookup:
    """Leave a trace and wait."""
    return Lookup(wait_for, file=file, gate=gate)


@probe.reads(TRACE)
def wait(gate: str) -> Lookup:
    """Wait, with no trace."""
    return Lookup(wait_for, file="/dev/null", gate=f"/{gate}")


@probe.resource("probe://gates/{+gate}", wait)
def waiting(gate: str) -> Mapping[str, str]:
    """What is behind a gate."""
    return {"gate": gate}


@probe.writes(TRACE)
def note(file: str) -> Lookup:
    """Leave a trace."""
    return Lookup(append, file=file)
