"""Running one tool for a caller: from checked arguments to the service's JSON."""

import logging
import time
from collections.abc import Mapping
from typing import Any

from mcpist import audit, broker
from mcpist.caller import Caller
from mcpist.errors import InternalError, McpistError, ReconnectRequired, Timeout
from mcpist.settings import settings
from mcpist.tools.call import Answer, Call, Calls, Lookup, Work
from mcpist.tools.module import Module
from mcpist.tools.tool import Tool

logger = logging.getLogger(__name__)


MOST_SECONDS = 20.0


def run(
    caller: Caller,
    module: Module,
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    request: str,
    batch: str = "",
    seconds: float = MOST_SECONDS,
) -> Any:
    """The JSON that the tool brought within some seconds, written into the audit table whatever the outcome.

    A tool that writes has an intent row before anything is sent: without a trail nothing is changed.
    """
    name = f"{tool.module}.{tool.name}"
    work = tool.describe_work(tool.validate(arguments))
    service = Service(caller, module, time.monotonic() + seconds)
    if not tool.reads:
        audit.record(caller, tool=name, outcome="started", request=request, batch=batch)
    outcome = InternalError.code
    try:
        raw = perform(service, work)
        outcome = "succeeded"
    except McpistError as error:
        outcome = error.code
        raise
    else:
        return raw
    finally:
        _record(caller, tool=name, outcome=outcome, request=request, account=service.account, batch=batch)


class Service:
    """A module's service as one caller reaches it, until a moment on the monotonic clock."""

    def __init__(self, caller: Caller, module: Module, until: float) -> None:
        self.caller = caller
        self.module = module
        self.until = until
        self.account = ""

    def ask(self, call: Call) -> Answer:
        """Send a Call with the caller's credential; a refused token is resolved afresh once."""
        from mcpist.tools.send import Unauthorized, send  # only a module that speaks HTTP waits for httpx

        try:
            return send(self.module, call, self.token(), seconds=self._seconds())
        except Unauthorized:
            pass
        try:
            return send(self.module, call, self.token(fresh=True), seconds=self._seconds())
        except Unauthorized:
            url = settings().connect_url(self.module.name)
            raise ReconnectRequired(service=self.module.name, url=url) from None

    def token(self, *, fresh: bool = False) -> str | None:
        """The bearer token, for a service that needs one."""
        if self.module.service is None:
            return None
        credential = broker.resolve(self.caller, self.module.service, fresh=fresh)
        self.account = credential.account_name
        return credential.token

    def look_up(self, lookup: Lookup) -> Any:
        """Answer a Lookup from the organization's own store."""
        if self.module.opens is None:
            raise TypeError(f"the module {self.module.name} opens no store")
        return lookup.function(self.module.opens(self.caller.organization), **lookup.arguments)

    def _seconds(self) -> float:
        """What is left for one more Call: the invocation must outlive it, or nobody hears how it ended."""
        left = min(self.until - time.monotonic(), MOST_SECONDS)
        if left <= 0:
            raise Timeout(service=self.module.name, seconds=0)
        return left


def perform(service: Service, work: Work) -> Any:
    """Do what a tool described."""
    if isinstance(work, Call):
        return service.ask(work).json
    if isinstance(work, Lookup):
        return service.look_up(work)
    return _converse(service, work)


def _converse(service: Service, calls: Calls) -> Any:
    """Send each Call that the generator yields and hand it the Answer; its return value is the JSON."""
    try:
        call = next(calls)
        while True:
            call = calls.send(service.ask(call))
    except StopIteration as end:
        return end.value


def _record(caller: Caller, **row: str) -> None:
    """The row after the fact; a lost one is counted, and the answer still goes."""
    try:
        audit.record(caller, **row)
    except McpistError:
        logger.exception("audit row lost", extra={"metric": "AuditRowsLost"})
