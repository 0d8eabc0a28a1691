"""The servers of a file and their stack, if there is one: stored or present tools, changes since an approval, audit."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass

from infra.cli.options import Target
from infra.cli.stacks import is_up
from infra.cli.target import opened
from infra.cli.upstream_listings import ListingResult, ToolRow, fetch_listings, rows
from mcpist.audit import record as audit
from mcpist.aws import clients
from mcpist.people import directory
from mcpist.people.administration import operator
from mcpist_services.upstream import lists
from mcpist_services.upstream.configuration import UpstreamConfiguration
from mcpist_services.upstream.trust import Pin, TextLine, changes

_MARKS = {"added": "+ ", "removed": "- ", "same": "  "}
type FindTexts = Callable[[str, Sequence[str]], Mapping[str, str]]
"""Returns the approved texts of tools of a server, by their names; older approvals have none."""


@dataclass(frozen=True, slots=True)
class StackView:
    """A file's servers and their stack, if there is one: `embedded` or deployed."""

    configured: UpstreamConfiguration
    has_stack: bool
    embedded: bool

    def pins(self, server: str) -> Mapping[str, Pin]:
        """Return the approvals of a server's tools."""
        return lists.pins(server) if self.has_stack else {}

    def approved_texts(self, server: str, tools: Iterable[str]) -> Mapping[str, str]:
        """Return the texts of tools as they were approved, where they were kept."""
        approved = self.pins(server)
        return lists.approved_texts_of(server, {tool: approved[tool] for tool in tools if tool in approved})

    def fetch_listings(self, names: Iterable[str]) -> dict[str, ListingResult]:
        """List these servers' tools now."""
        servers = {name: self.configured.servers[name] for name in names}
        references = {one for server in servers.values() for one in server.references}
        return fetch_listings(servers, _stored(references) if self.has_stack else {}, embedded=self.embedded)


@contextmanager
def stack_view(target: Target, configured: UpstreamConfiguration, *, needed: bool = False) -> Iterator[StackView]:
    """Open the target, or the last `up` if one runs; else continue without a stack, unless one is `needed`."""
    has_stack = target.deployed or needed or is_up()
    with opened(target) if has_stack else nullcontext():
        yield StackView(configured, has_stack, not target.deployed)


def find_rows(view: StackView, servers: list[str]) -> list[ToolRow]:
    """Return the tools as the stack has stored them, or as a server lists them now."""
    # What is stored is what people see and call; a server is asked only where nothing is.
    known = {name: lists.server_state(name).cached for name in servers} if view.has_stack else {}
    kept = {name: one.listing for name, one in known.items() if one and one.listing}
    now = view.fetch_listings(name for name in servers if name not in kept)
    listings = kept | {name: answer.listing for name, answer in now.items() if answer.listing}
    return rows(view.configured, listings, {name: view.pins(name) for name in listings})


def _stored(references: Iterable[str]) -> dict[str, str]:
    """Return the values of the stored parameters that can be read from here, by their references."""
    from botocore.exceptions import BotoCoreError, ClientError

    found = {}
    for reference in references:
        if reference.startswith("ssm:"):
            asked = {"Name": reference.removeprefix("ssm:"), "WithDecryption": True}
            with suppress(BotoCoreError, ClientError):
                found[reference] = clients.client("ssm").get_parameter(**asked)["Parameter"]["Value"]
    return found


def record_approvals(server: str, before: Mapping[str, Pin], approved: Sequence[Pin]) -> None:
    """Write the fingerprints before and after to each organization's audit: all organizations share the servers."""
    if not approved:
        return
    old = {pin.tool: before[pin.tool].fingerprint for pin in approved if pin.tool in before}
    new = {pin.tool: pin.fingerprint for pin in approved}
    for organization in directory.organizations():
        audit.record_change(
            operator(organization),
            action="upstreams.approve",
            target=f"upstreams.{server}",
            request="",
            before=old,
            after=new,
        )


def changed_lines(rows: Iterable[ToolRow], find_texts: FindTexts) -> dict[tuple[str, str], list[str]]:
    """Return the lines of each changed tool, by its server and name; each server's texts are read once."""
    changed = [row for row in rows if row.state == "changed"]
    found: dict[tuple[str, str], list[str]] = {}
    for server in dict.fromkeys(row.chosen.server for row in changed):
        own = [row for row in changed if row.chosen.server == server]
        texts = find_texts(server, [row.pin.tool for row in own])
        for row in own:
            if row.pin.tool in texts:
                found[server, row.pin.tool] = list(map(_line, changes(texts[row.pin.tool], row.pin.text)))
    return found


def _line(line: TextLine) -> str:
    return f"… {line.text} lines" if line.kind == "skipped" else f"{_MARKS[line.kind]}{line.text}"
