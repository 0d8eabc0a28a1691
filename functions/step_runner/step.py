"""One step's work: who it is done for, with which arguments, by which tool."""

from functools import cache
from typing import Any

from mcpist import directory
from mcpist.batch import ledger
from mcpist.batch.records import Entry, Header
from mcpist.batch.references import Result, resolve
from mcpist.batch.settling import Entrance
from mcpist.caller import Caller, Proof, Subject
from mcpist.running.run import Brought, run
from mcpist.sieve import Sieve
from mcpist_modules import CATALOGUE

SETTLING_SECONDS = 5.0


def work(head: Header, entry: Entry, entrance: Entrance) -> Brought:
    """What the step's tool brings; the sieve is asked again, since roles may have changed meanwhile."""
    caller = _caller(head)
    tool = Sieve(caller, CATALOGUE).tool(entry.module, entry.tool)
    params = resolve(entry.params, _results(head, entry))
    module = CATALOGUE.module(entry.module)
    left = entrance.remaining - SETTLING_SECONDS
    return run(caller, module, tool, params, request=entrance.request, batch=head.batch, seconds=left)


def _caller(head: Header) -> Caller:
    return directory.identify(
        Subject(head.issuer, head.sub),
        organization=head.organization,
        roles=head.roles,
        proof=Proof("warrant", head.warrant) if head.warrant else None,
    )


def _results(head: Header, entry: Entry) -> Any:
    """The results of other steps by their ids, each read when a reference first needs it."""
    indexes = {head.ids[need]: need for need in head.needs[entry.index]}

    @cache
    def result(step: str) -> Result:
        source = ledger.entries(head.pk, [indexes[step]])[0]
        shows = CATALOGUE.module(source.module).tools[source.tool].shows
        return Result(ledger.raw(head, source), shows, source.file)

    return result
