"""Run one tool for a caller: from checked arguments to the service's JSON."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from mcpist.audit import record as audit
from mcpist.aws.attributes import Item
from mcpist.caller import Caller
from mcpist.errors import (
    AccountError,
    AnswerWithheld,
    InternalError,
    McpistError,
    ReconnectRequired,
    UpstreamUnavailable,
)
from mcpist.files.parameters import load_arguments
from mcpist.render.shows import PAGE_URL, value_at
from mcpist.running import broker
from mcpist.running.accounts import Account, acting_account
from mcpist.running.cache import response_cache
from mcpist.running.options import DEFAULT_OPTIONS, RunOptions
from mcpist.settings import settings
from mcpist.spending import spending
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import CALLS, LATENCY
from mcpist.telemetry.tracing import span
from mcpist.tools.access.permissions import acting_caller
from mcpist.tools.declare.call import (
    AuthoredLookup,
    Call,
    Calls,
    Lookup,
    Measured,
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

if TYPE_CHECKING:
    from mcpist.audit.rows import AuditColumns
    from mcpist.running.undoing import PendingChange, Targets

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


def run_tool(
    caller: Caller,
    module: Module,
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    request: str,
    batch: str = "",
    seconds: float = MAX_RUN_SECONDS,
    options: RunOptions = DEFAULT_OPTIONS,
    other_tools: "Targets | None" = None,
    step: str = "",
) -> ToolResult:
    """Return the tool's result within some seconds, and write every outcome into the audit table.

    For a tool that writes, a row is written before anything is sent: nothing changes without an audit trail.
    """
    deadline = time.monotonic() + seconds
    arguments = load_arguments(caller, tool.input_schema, arguments)
    checked = tool.validate(arguments)
    work = tool.describe_work(checked)
    changing = nullcontext() if tool.reads else response_cache.invalidating((caller.organization, module.name))
    kept: list[Item] = []
    begun: list[AuditColumns] = []
    with _in_doubt(begun), audited(caller, tool.module, tool.name, request=request, batch=batch, kept=kept) as row:
        running = ToolRun(acting_caller(caller, tool), module, tool, row, deadline, options, other_tools, arguments)
        account = None if tool.reads else running.resolve_account()  # so that the row names the account
        with changing, _undoable(running, checked, step) as pending:
            if not tool.reads:
                started: AuditColumns = {**row, "outcome": "started"}
                audit.record_use(caller, tool.module, tool.name, **started)
                begun.append(started)
            result = _tool_result(_produce(running, work, account), running.account.name)
            result = replace(result, json=tool.masked(result.json))
            if pending:
                pending.answer, pending.account = result.json, running.account.label
        kept += pending.kept if pending else ()
    add_page_urls(result.json, tool, checked, running.account.site_url)
    return result


@contextmanager
def _in_doubt(begun: Sequence["AuditColumns"]) -> Iterator[None]:
    """Add to an answer that is withheld that repeating the tool could write twice, once a write has begun."""
    try:
        yield
    except AnswerWithheld as error:
        if begun:
            error.with_details(may_have_happened=True)
        raise


def _undoable(
    running: "ToolRun", arguments: Mapping[str, Any], step: str
) -> AbstractContextManager["PendingChange | None"]:
    """Return the context in which a write is kept, or is the undo of another; that of most runs does nothing."""
    options, others = running.options, running.other_tools
    if running.tool.reads or others is None or not (options.undoable or options.undoes or running.caller.undoable):
        return nullcontext()
    from mcpist.running.undoing import undoable  # few runs wait for it

    return undoable(running.caller, running.tool, arguments, options, others, running.row, step)


def _produce(running: "ToolRun", work: Work, account: Account | None) -> Any:
    """Return the result of the work, and count the call."""
    began = time.monotonic()
    try:
        with span("tool", tool=f"{running.tool.module}.{running.tool.name}"):
            return running.produce(work, account)
    except McpistError as error:
        if isinstance(said := error.details.get("problem"), str):  # a service may quote what it refused
            error.details["problem"] = running.tool.masked(said)
        raise
    finally:
        invocation.count(CALLS)
        invocation.count(LATENCY, round((time.monotonic() - began) * 1000))


@contextmanager
def audited(
    caller: Caller,
    module: str,
    tool: str,
    *,
    request: str,
    batch: str = "",
    outcome: str = "succeeded",
    kept: Sequence[Item] = (),
) -> Iterator["AuditColumns"]:
    """Write an audit row for the outcome of a use, with the columns that the block adds to it; `outcome` is its end.

    AnswerWithheld where it cannot be written and the owner demands it; else that does not fail the use. `kept` are the
    items of the ledger that are written with it.
    """
    row: AuditColumns = {"outcome": InternalError.code, "request": request, "batch": batch}
    try:
        with account_links(caller):
            yield row
        row["outcome"] = outcome
    except McpistError as error:
        row["outcome"] = error.code
        raise
    finally:

        def record() -> None:
            with audit.of_use():
                audit.record_use(caller, module, tool, kept=kept, **row)

        # A step's is written beside its ending, or with it, unless an undo that begins then must find its change, or
        # the step may not end without it. A call's rendering takes less than a thread would.
        if batch and not (kept or audit.collects_rows() or settings().audit_required):
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
        # The URL of the error was made for the module alone; this one opens for this person only.
        label = error.details.get("account", "")
        error.details["url"] = settings().connect_url(service, caller.organization, caller.user, label)
        broker.forget(caller, service)
        raise


def _tool_result(returned: Any, account: str) -> ToolResult:
    """Return a tool's result; an empty answer without a word about it means that the work is done."""
    if isinstance(returned, ProxiedResponse):
        return replace(_tool_result(returned.json, account), result=returned.result)
    partial_list = returned if isinstance(returned, PartialList) else PartialList(returned, "")
    is_silent = partial_list.json is None and not partial_list.more
    return ToolResult({"done": True} if is_silent else partial_list.json, partial_list.more, account)


@dataclass(slots=True)
class ToolRun:
    """One run of a tool: the work that it described, done at its service, at a server or in a store of ours."""

    caller: Caller
    """The caller in the roles that allow the tool."""
    module: Module
    tool: Tool
    row: "AuditColumns"
    """The columns of the run's audit row that its work decides."""
    deadline: float
    """The moment on the monotonic clock when it ends."""
    options: RunOptions = DEFAULT_OPTIONS
    other_tools: "Targets | None" = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """As the caller wrote them: an address among them must be at the account's site."""
    find_account: Callable[..., Account] = acting_account
    account: Account = field(init=False)
    """The account that acted last."""
    has_written: bool = field(default=False, init=False)
    """Whether something has changed at the service, or may have."""

    def __post_init__(self) -> None:
        self.account = Account(self.caller.organization, self.module, None)

    def resolve_account(self, refused: Account | None = None) -> Account:
        """Return the account that acts now, which the audit row names; with another token than a `refused` one.

        ScopeMissing if it lacks a scope that the tool needs: no request is sent.
        """
        self.account = self.find_account(self.caller, self.module, self.tool, refused=refused)
        self.row["account"] = self.account.name
        self.account.require_scope(self.tool.name)
        self.tool.pasted.check_site(self.arguments, self.account.site_url)
        return self.account

    def produce(self, work: Work, account: Account | None = None) -> Any:
        """Return the result of the work; its first request is sent with `account` where that is resolved already."""
        if isinstance(work, Call):
            return self.finish(work, account)
        if isinstance(work, Lookup):
            return self.look_up(work, account)
        if isinstance(work, ProxiedCall):
            return self.proxy(work, account)
        return self.converse(work, account)

    def finish(self, call: Call, account: Account | None) -> Any:
        """Return the JSON of the response to the Call that is the work, or its last part."""
        return self.request(call, account).json

    def request(self, call: Call, account: Account | None = None) -> ServiceResponse:
        """Return the response to a Call, from the service or, for a tool that allows it, from the cache."""
        account = account or self.resolve_account()
        if not self.tool.reads:
            return self._write(account, call)
        seconds = self.tool.cache_seconds
        if not (settings().response_cache and seconds and not self.tool.reveals):
            return self._send(account, call)
        cached = response_cache.find(account, call)
        if cached and response_cache.is_fresh(cached):
            return cached.copy()
        response = self._send(account, cached.conditional(call) if cached else call)
        return response_cache.store(self.account, call, response, seconds, cached)

    def _write(self, account: Account, call: Call) -> ServiceResponse:
        """Return the response to a Call of a tool that writes, and note whether something has changed, or may have."""
        changes = call.method != "GET" and not call.prepares
        try:
            response = self._send(account, call)
        except McpistError as error:
            self.has_written |= changes and error.details.get("may_have_happened", False)
            raise
        self.has_written |= changes
        return response

    def _send(self, account: Account, call: Call) -> ServiceResponse:
        """Send a Call, once more where its token is refused; what it downloads becomes a file of the caller."""
        from mcpist.running.send import Unauthorized, send_call  # only a module that speaks HTTP waits for its import

        send = partial(send_call, call=call, deadline=self.deadline, options=self.options, reads=self.tool.reads)
        try:
            response = send(account)
        except Unauthorized:
            account = self.resolve_account(refused=account)
            try:
                response = send(account)
            except Unauthorized as refused:
                url = settings().connect_url(self.module.name)
                raise ReconnectRequired(service=self.module.name, url=url, problem=str(refused)) from None
        if response.downloaded is None:
            return response
        from mcpist.files.answers import keep_download  # few tools wait for it

        return replace(response, json=keep_download(self.caller, response.downloaded), downloaded=None)

    def look_up(self, lookup: Lookup, account: Account | None = None) -> Any:
        """Answer a Lookup from a store of our own, or from the one that the account's key opens."""
        if isinstance(lookup, ToolLookup):
            return lookup.function(self.other_tools, self.deadline, **lookup.arguments)
        store = self._store(account)
        arguments = dict(lookup.arguments)
        if isinstance(lookup, TimedLookup):
            arguments["deadline"] = min(self.deadline, time.monotonic() + self.options.timeout)
        elif isinstance(lookup, AuthoredLookup):
            arguments["caller"] = self.caller
        found = lookup.function(store, **arguments)
        if isinstance(found, Measured):
            self.row["measures"] = found.measures or None
            return found.json
        return found

    def _store(self, account: Account | None) -> Any:
        if self.module.open_account:
            credential = (account or self.resolve_account()).credential
            return self.module.open_account(credential.token if credential else "")
        if self.module.open_store is None:
            raise TypeError(f"the module {self.module.name} opens no store")
        return self.module.open_store(self.caller)

    def proxy(self, work: ProxiedCall, account: Account | None = None) -> ProxiedResponse:
        """Return an upstream tool's response; a tool that reads is retried as often as the options say."""
        if self.module.upstream is None:
            raise TypeError(f"the module {self.module.name} has no upstream server")
        if account is None:
            self.resolve_account()  # the client of the server finds it again, in memory
        spending.add(self.caller.organization, "bytes", len(str(work.arguments)))
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

    def converse(self, calls: Calls, account: Account | None = None) -> Any:
        """Send each Call that the generator yields and send it the response or the error; its return value is the JSON.

        A Call as the return value is sent too: the JSON is its response's. After a write, every error says that
        repeating the tool could write twice.
        """
        try:
            return self._exchange_calls(calls, account)
        except McpistError as error:
            if self.has_written:
                error.with_details(may_have_happened=True)
            raise

    def _exchange_calls(self, calls: Calls, account: Account | None) -> Any:
        try:
            call = next(calls)
            while True:
                # A later request resolves its account again: the token may have expired meanwhile.
                acting, account = account, None
                try:
                    response = self.request(call, acting)
                except McpistError as error:
                    call = calls.throw(error)
                else:
                    call = self._resume(calls, response)
        except StopIteration as end:
            return self.finish(end.value, account) if isinstance(end.value, Call) else end.value

    def _resume(self, calls: Calls, response: ServiceResponse) -> Call:
        """Send the generator a response; an error while it reads the JSON means that the service has changed."""
        try:
            return calls.send(response)
        except (AttributeError, LookupError, TypeError) as error:
            logger.exception("answer of another shape", extra={"tool": f"{self.tool.module}.{self.tool.name}"})
            problem = "it answered JSON of another shape than this tool reads"
            raise UpstreamUnavailable(service=self.module.name, problem=problem) from error


def add_page_urls(json: Any, tool: Tool, arguments: Mapping[str, Any], site_url: str) -> None:
    """Add the address of its page to each item of a tool's JSON, where a column shows it."""
    shows, page_path = tool.shows, tool.page_path
    if page_path is None or not site_url or not any(PAGE_URL in column.paths for column in shows.columns):
        return
    rows = value_at(json, shows.rows) if shows.rows else json
    for item in rows if isinstance(rows, list) else [rows]:
        if isinstance(item, dict) and (path := page_path(item, arguments)):
            item[PAGE_URL] = f"{site_url.rstrip('/')}{path}"
