"""Running one tool for a caller: from checked arguments to the service's JSON."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import (
    AccountError,
    InternalError,
    McpistError,
    ReconnectRequired,
    ScopeMissing,
    UpstreamUnavailable,
)
from mcpist.running import broker
from mcpist.running.account import Account
from mcpist.running.cache import answers
from mcpist.running.options import USUAL, Options
from mcpist.running.scopes import lacking
from mcpist.settings import settings
from mcpist.telemetry import audit, invocation
from mcpist.telemetry.metrics import CALLS, LATENCY
from mcpist.telemetry.tracing import span
from mcpist.tools.call import Answer, Call, Calls, Cut, Lookup, Proxied, Reply, Work
from mcpist.tools.module import Module
from mcpist.tools.permissions import permits
from mcpist.tools.tool import Tool

logger = logging.getLogger(__name__)


MOST_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Brought:
    """What a tool brought: its JSON, of a list that was cut how to go on, the name of the account that acted.

    Of a proxied tool, also the server's own result.
    """

    json: Any
    more: str = ""
    account: str = ""
    result: Mapping[str, Any] | None = None


def run(
    caller: Caller,
    module: Module,
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    request: str,
    batch: str = "",
    seconds: float = MOST_SECONDS,
    options: Options = USUAL,
) -> Brought:
    """What the tool brought within some seconds, written into the audit table whatever the outcome.

    A tool that writes has an intent row before anything is sent: without a trail nothing is changed.
    """
    used = {"module": tool.module, "tool": tool.name, "request": request, "batch": batch}
    work = tool.describe_work(tool.validate(arguments))
    service = Service(caller, module, tool, time.monotonic() + seconds, options)
    if not tool.reads:
        audit.record(caller, outcome="started", **used)
    outcome, began = InternalError.code, time.monotonic()
    changing = nullcontext() if tool.reads else answers.changing((caller.organization, module.name))
    try:
        with changing, span("tool", tool=f"{tool.module}.{tool.name}"):
            brought = perform(service, work)
        outcome = "succeeded"
    except McpistError as error:
        outcome = error.code
        if isinstance(error, AccountError):
            _lead(caller, error)
        raise
    else:
        return _brought(brought, service.account)
    finally:
        invocation.count(CALLS)
        invocation.count(LATENCY, round((time.monotonic() - began) * 1000))
        _record(caller, outcome=outcome, account=service.account, **used)


@contextmanager
def recorded(caller: Caller, module: str, what: str, request: str) -> Iterator[None]:
    """Write a row for a use of a module that is no tool's and changes nothing."""
    outcome = InternalError.code
    try:
        yield
        outcome = "succeeded"
    except McpistError as error:
        outcome = error.code
        if isinstance(error, AccountError):
            _lead(caller, error)
        raise
    finally:
        _record(caller, module=module, tool=what, outcome=outcome, request=request)


def _brought(found: Any, account: str) -> Brought:
    """What a tool returned; a service that answers a write with nothing has done it."""
    if isinstance(found, Reply):
        return replace(_brought(found.json, account), result=found.result)
    cut = found if isinstance(found, Cut) else Cut(found, "")
    return Brought({"done": True} if cut.json is None else cut.json, cut.more, account)


class Service:
    """A module's service as one caller's tool reaches it, until a moment on the monotonic clock.

    The caller acts in the roles that allow the tool: the account of another role was not meant for it.
    """

    def __init__(self, caller: Caller, module: Module, tool: Tool, until: float, options: Options = USUAL) -> None:
        self.caller = replace(caller, roles=tuple(role for role in caller.roles if permits(role, tool)))
        self.module = module
        self.tool = tool
        self.until = until
        self.options = options
        self.acting = Account(caller.organization, module, None)

    @property
    def account(self) -> str:
        """The name of the account that acted last; empty where none was needed."""
        return self.acting.credential.account_name if self.acting.credential else ""

    def ask(self, call: Call) -> Answer:
        """The answer to a Call, from the service or, for a tool that allows it, from the cache."""
        self.identify()
        seconds = self.tool.cache_seconds
        if not (settings().response_cache and seconds and self.tool.reads and not self.tool.reveals):
            return self.send(call)
        kept = answers.find(self.acting, call)
        if kept and answers.is_alive(kept):
            return kept.answer()
        answer = self.send(kept.conditional(call) if kept else call)
        if kept and answer.status == 304:
            return answers.renew(kept, seconds)
        answers.keep(self.acting, call, answer, seconds)
        return answer

    def send(self, call: Call) -> Answer:
        """Send a Call with the caller's credential; a refused token is resolved afresh once."""
        from mcpist.running.send import Unauthorized, send  # only a module that speaks HTTP waits for httpx

        patience: Any = {"until": self.until, "options": self.options, "reads": self.tool.reads}
        try:
            return send(self.acting, call, **patience)
        except Unauthorized:
            self.identify(fresh=True)
        try:
            return send(self.acting, call, **patience)
        except Unauthorized as refused:
            url = settings().connect_url(self.module.name)
            raise ReconnectRequired(service=self.module.name, url=url, problem=str(refused)) from None

    def identify(self, *, fresh: bool = False) -> None:
        """Learn which account acts, for a service that needs one; `fresh` where the service refused its token.

        ScopeMissing if it was not granted what the tool needs: the service is not asked.
        """
        if self.module.service is not None:
            held = self.acting.credential
            refused = held.version if fresh and held else None
            credential = broker.resolve(self.caller, self.module.service, refused=refused)
            self.acting = Account(self.caller.organization, self.module, credential)
            needed = self.module.needs.get(self.tool.name, ())
            if scope := lacking(needed, credential.scopes, self.module.scopes.wider):
                url = settings().connect_url(self.module.service)
                raise ScopeMissing(service=self.module.service, scope=scope, url=url)

    def look_up(self, lookup: Lookup) -> Any:
        """Answer a Lookup from the organization's own store."""
        if self.module.opens is None:
            raise TypeError(f"the module {self.module.name} opens no store")
        return lookup.function(self.module.opens(self.caller.organization), **lookup.arguments)

    def proxy(self, work: Proxied) -> Reply:
        """What a server behind ours brought; a tool that reads is asked again as often as the options say."""
        if self.module.peers is None:
            raise TypeError(f"the module {self.module.name} stands for no server")
        if work.service is not None:
            credential = broker.resolve(self.caller, work.service)
            self.acting = Account(self.caller.organization, self.module, credential)
        for retries in count():
            until = min(self.until, time.monotonic() + self.options.timeout)
            try:
                with span("upstream", service=self.module.name):
                    return self.module.peers.call(self.caller, work, until=until, reads=self.tool.reads)
            except McpistError as error:
                pause = self.options.pause(retries)
                again = error.retryable and self.tool.reads and retries < self.options.retry
                if not again or time.monotonic() + pause >= self.until:
                    raise
            time.sleep(pause)
        raise AssertionError


def perform(service: Service, work: Work) -> Any:
    """Do what a tool described."""
    if isinstance(work, Call):
        return service.ask(work).json
    if isinstance(work, Lookup):
        return service.look_up(work)
    if isinstance(work, Proxied):
        return service.proxy(work)
    return _converse(service, work)


def _converse(service: Service, calls: Calls) -> Any:
    """Send each Call that the generator yields and hand it the Answer, or the error; its return value is the JSON."""
    try:
        call = next(calls)
        while True:
            try:
                answer = service.ask(call)
            except McpistError as error:
                call = calls.throw(error)
            else:
                call = _hear(service, calls, answer)
    except StopIteration as end:
        return end.value


def _hear(service: Service, calls: Calls, answer: Answer) -> Call:
    """Hand the generator an Answer; where it stumbles over what it reads there, the service has changed."""
    try:
        return calls.send(answer)
    except (AttributeError, LookupError, TypeError) as error:
        logger.exception("answer of another shape", extra={"tool": f"{service.tool.module}.{service.tool.name}"})
        problem = "it answered JSON of another shape than this tool reads"
        raise UpstreamUnavailable(service=service.module.name, problem=problem) from error


def _lead(caller: Caller, error: AccountError) -> None:
    """Give the error a link for this caller alone, and forget the account, so that a new one is seen."""
    service = error.details["service"]
    error.details["url"] = settings().connect_url(service, caller.organization, caller.user)
    broker.forget(caller, service)


def _record(caller: Caller, **row: str) -> None:
    """The row after the fact; the answer goes without it, too."""
    with audit.afterwards():
        audit.record(caller, **row)
