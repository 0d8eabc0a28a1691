"""Run one tool for a caller: from checked arguments to the service's JSON."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from mcpist.audit import record as audit
from mcpist.caller import Caller
from mcpist.errors import AccountError, InternalError, McpistError, ReconnectRequired, ScopeMissing, UpstreamUnavailable
from mcpist.files.parameters import load_arguments
from mcpist.render.shows import PAGE_URL, value_at
from mcpist.running import broker
from mcpist.running.account import Account
from mcpist.running.cache import response_cache
from mcpist.running.options import DEFAULT_OPTIONS, RunOptions
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import CALLS, LATENCY
from mcpist.telemetry.tracing import span
from mcpist.tools.access.permissions import acting_caller
from mcpist.tools.declare.call import (
    Call,
    Calls,
    Lookup,
    Measured,
    OtherTools,
    PartialList,
    ProxiedCall,
    ProxiedResponse,
    ServiceResponse,
    TimedLookup,
    ToolLookup,
    Work,
)
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.tool import Tool

logger = logging.getLogger(__name__)

MAX_RUN_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool."""

    json: Any
    more: str = ""
    """How to read the rest of a list that was cut, for the model."""
    account: str = ""
    """The name of the account that acted."""
    result: Mapping[str, Any] | None = None
    """An upstream tool's own result."""


def run(
    caller: Caller,
    module: Module,
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    request: str,
    batch: str = "",
    seconds: float = MAX_RUN_SECONDS,
    options: RunOptions = DEFAULT_OPTIONS,
    other_tools: OtherTools | None = None,
) -> ToolResult:
    """Return the tool's result within some seconds, and write every outcome into the audit table.

    For a tool that writes, a row is written before anything is sent: nothing changes without an audit trail.
    """
    used: Any = {"module": tool.module, "tool": tool.name, "request": request, "batch": batch}
    checked = tool.validate(load_arguments(caller, tool.input_schema, arguments))
    work = tool.describe_work(checked)
    service = ServiceClient(caller, module, tool, time.monotonic() + seconds, options, other_tools)
    changing = nullcontext() if tool.reads else response_cache.invalidating((caller.organization, module.name))
    with audited(caller, lambda: service.account_name, lambda: service.measures, **used):
        if not tool.reads:
            service.resolve_in_advance(work)  # so that the row names the account
            audit.record_use(caller, outcome="started", account=service.account_name, **used)
        began = time.monotonic()
        try:
            with changing, span("tool", tool=f"{tool.module}.{tool.name}"):
                returned = perform(service, work)
        finally:
            invocation.count(CALLS)
            invocation.count(LATENCY, round((time.monotonic() - began) * 1000))
    result = _tool_result(returned, service.account_name)
    add_page_urls(result.json, tool, checked, service.site_url)
    return result


@contextmanager
def audited(
    caller: Caller,
    account: Callable[[], str] = lambda: "",
    measures: Callable[[], Mapping[str, int]] = dict,
    **use: str,
) -> Iterator[None]:
    """Write an audit row for the outcome of a use; a failure to write it does not fail the use.

    A step's is written beside its ending. A call's rendering takes less than a thread would.
    """
    outcome = InternalError.code
    try:
        with account_links(caller):
            yield
        outcome = "succeeded"
    except McpistError as error:
        outcome = error.code
        raise
    finally:
        row: Any = {"outcome": outcome, "account": account(), "measures": measures(), **use}

        def record() -> None:
            with audit.best_effort():
                audit.record_use(caller, **row)

        if use.get("batch"):
            invocation.beside(record)
        else:
            record()


@contextmanager
def account_links(caller: Caller) -> Iterator[None]:
    """Add a link for this caller to an AccountError, and forget the account, so that a new one is found."""
    try:
        yield
    except AccountError as error:
        service = error.details["service"]
        error.details["url"] = settings().connect_url(service, caller.organization, caller.user)
        broker.forget(caller, service)
        raise


def _tool_result(returned: Any, account: str) -> ToolResult:
    """Return a tool's result; a service that answers a write with an empty body has done it."""
    if isinstance(returned, ProxiedResponse):
        return replace(_tool_result(returned.json, account), result=returned.result)
    partial = returned if isinstance(returned, PartialList) else PartialList(returned, "")
    return ToolResult({"done": True} if partial.json is None else partial.json, partial.more, account)


class ServiceClient:
    """A module's service as one caller's tool reaches it, until a moment on the monotonic clock."""

    def __init__(
        self,
        caller: Caller,
        module: Module,
        tool: Tool,
        deadline: float = 0,
        options: RunOptions = DEFAULT_OPTIONS,
        other_tools: OtherTools | None = None,
    ) -> None:
        self.caller = acting_caller(caller, tool)
        self.module = module
        self.tool = tool
        self.deadline = deadline
        self.options = options
        self.other_tools = other_tools
        self.current_account = Account(caller.organization, module, None)
        self.measures: Mapping[str, int] = {}
        self.has_written = False
        self._is_resolved = False

    @property
    def account_name(self) -> str:
        """The name of the account that acted last; empty where none was needed."""
        return self.current_account.credential.account_name if self.current_account.credential else ""

    @property
    def site_url(self) -> str:
        """The address of the account's own site; empty where it has none."""
        return self.current_account.credential.site_url if self.current_account.credential else ""

    def request(self, call: Call) -> ServiceResponse:
        """Return the response to a Call, from the service or, for a tool that allows it, from the cache."""
        if not self._is_resolved:
            self.resolve_account()
        self._is_resolved = False
        if not self.tool.reads:
            return self._write(call)
        seconds = self.tool.cache_seconds
        if not (settings().response_cache and seconds and not self.tool.reveals):
            return self.send(call)
        cached = response_cache.find(self.current_account, call)
        if cached and response_cache.is_fresh(cached):
            return cached.answer()
        response = self.send(cached.conditional(call) if cached else call)
        if cached and response.status == 304:
            return response_cache.renew(cached, seconds)
        response_cache.store(self.current_account, call, response, seconds)
        return response

    def _write(self, call: Call) -> ServiceResponse:
        """Return the response to a Call of a tool that writes, and note whether something has changed, or may have."""
        changes = call.method != "GET" and not call.prepares
        try:
            response = self.send(call)
        except McpistError as error:
            self.has_written |= changes and error.details.get("may_have_happened", False)
            raise
        self.has_written |= changes
        return response

    def send(self, call: Call) -> ServiceResponse:
        """Send a Call with the caller's credential; what it downloads becomes a file of the caller."""
        response = self._send(call)
        if response.downloaded is None:
            return response
        from mcpist.files.answers import keep_download  # few tools wait for it

        return replace(response, json=keep_download(self.caller, response.downloaded), downloaded=None)

    def _send(self, call: Call) -> ServiceResponse:
        """Send a Call; a refused token is resolved afresh once."""
        from mcpist.running.send import Unauthorized, send  # only a module that speaks HTTP waits for its import

        send_options: Any = {"deadline": self.deadline, "options": self.options, "reads": self.tool.reads}
        try:
            return send(self.current_account, call, **send_options)
        except Unauthorized:
            self.resolve_account(fresh=True)
        try:
            return send(self.current_account, call, **send_options)
        except Unauthorized as refused:
            url = settings().connect_url(self.module.name)
            raise ReconnectRequired(service=self.module.name, url=url, problem=str(refused)) from None

    def resolve_account(self, *, fresh: bool = False) -> None:
        """Resolve the account that acts, for a service that needs one; `fresh` where the service refused its token.

        ScopeMissing if it lacks a scope that the tool needs: no request is sent.
        """
        if self.module.service is not None:
            held = self.current_account.credential
            refused = held.version if fresh and held else None
            credential = broker.resolve(self.caller, self.module.service, refused=refused)
            self.current_account = Account(self.caller.organization, self.module, credential)
            if scope := self.module.missing_scope(self.tool.name, credential.scopes):
                url = settings().connect_url(self.module.service)
                raise ScopeMissing(service=self.module.service, scope=scope, url=url)

    def resolve_in_advance(self, work: Work) -> None:
        """Resolve the account of the first request before it is sent."""
        if isinstance(work, ProxiedCall):
            self.resolve_upstream_account(work)
        else:
            self.resolve_account()
        self._is_resolved = True

    def resolve_upstream_account(self, work: ProxiedCall) -> None:
        """Resolve the account that acts at an upstream server, where its tools act with one."""
        if work.service is not None:
            credential = broker.resolve(self.caller, work.service)
            self.current_account = Account(self.caller.organization, self.module, credential)

    def look_up(self, lookup: Lookup) -> Any:
        """Answer a Lookup from a store of our own."""
        if isinstance(lookup, ToolLookup):
            return lookup.function(self.other_tools, self.deadline, **lookup.arguments)
        if self.module.open_store is None:
            raise TypeError(f"the module {self.module.name} opens no store")
        arguments = dict(lookup.arguments)
        if isinstance(lookup, TimedLookup):
            arguments["deadline"] = min(self.deadline, time.monotonic() + self.options.timeout)
        found = lookup.function(self.module.open_store(self.caller), **arguments)
        if isinstance(found, Measured):
            self.measures = found.measures
            return found.json
        return found

    def proxy(self, work: ProxiedCall) -> ProxiedResponse:
        """Return an upstream tool's response; a tool that reads is retried as often as the options say."""
        if self.module.upstream is None:
            raise TypeError(f"the module {self.module.name} has no upstream server")
        if not self._is_resolved:
            self.resolve_upstream_account(work)
        for retries in count():
            deadline = min(self.deadline, time.monotonic() + self.options.timeout)
            try:
                with span("upstream", service=self.module.name):
                    return self.module.upstream.call(self.caller, work, deadline=deadline, reads=self.tool.reads)
            except McpistError as error:
                pause = self.options.backoff(retries)
                again = error.retryable and self.tool.reads and retries < self.options.retry
                if not again or time.monotonic() + pause >= self.deadline:
                    raise
            time.sleep(pause)
        raise AssertionError


def perform(service: ServiceClient, work: Work) -> Any:
    """Perform the work that a tool described."""
    if isinstance(work, Call):
        return service.request(work).json
    if isinstance(work, Lookup):
        return service.look_up(work)
    if isinstance(work, ProxiedCall):
        return service.proxy(work)
    return _run_generator(service, work)


def _run_generator(service: ServiceClient, calls: Calls) -> Any:
    """Send each Call that the generator yields and send it the response or the error; its return value is the JSON.

    A Call as the return value is sent too: the JSON is its response's. After a write, every error says that repeating
    the tool could write twice.
    """
    try:
        return _exchange_calls(service, calls)
    except McpistError as error:
        if service.has_written:
            error.with_details(may_have_happened=True)
        raise


def _exchange_calls(service: ServiceClient, calls: Calls) -> Any:
    try:
        call = next(calls)
        while True:
            try:
                response = service.request(call)
            except McpistError as error:
                call = calls.throw(error)
            else:
                call = _resume(service, calls, response)
    except StopIteration as end:
        return service.request(end.value).json if isinstance(end.value, Call) else end.value


def _resume(service: ServiceClient, calls: Calls, response: ServiceResponse) -> Call:
    """Send the generator a ServiceResponse; an error while it reads the JSON means that the service has changed."""
    try:
        return calls.send(response)
    except (AttributeError, LookupError, TypeError) as error:
        logger.exception("answer of another shape", extra={"tool": f"{service.tool.module}.{service.tool.name}"})
        problem = "it answered JSON of another shape than this tool reads"
        raise UpstreamUnavailable(service=service.module.name, problem=problem) from error


def add_page_urls(json: Any, tool: Tool, arguments: Mapping[str, Any], site_url: str) -> None:
    """Add the address of its page to each item of a tool's JSON, where a column shows it."""
    shows, page_path = tool.shows, tool.page_path
    if page_path is None or not site_url or not any(PAGE_URL in column.paths for column in shows.columns):
        return
    rows = value_at(json, shows.rows) if shows.rows else json
    for item in rows if isinstance(rows, list) else [rows]:
        if isinstance(item, dict) and (path := page_path(item, arguments)):
            item[PAGE_URL] = f"{site_url.rstrip('/')}{path}"
