"""One invocation of a function: its log lines, its metrics and its trace carry one correlation id.

It also has a place in a W3C trace, which the client may have begun and which services and upstreams continue.

The id is that of the request that came in. It is stored in the header of the batch that the request starts, and so
reaches each step; it is sent to the token broker with every message.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcpist.telemetry import metrics
from mcpist.telemetry.log_lines import LineLogger
from mcpist.telemetry.metrics import Metric, MetricTotals
from mcpist.telemetry.tracing import TraceContext, annotate, follow, span

if TYPE_CHECKING:
    from concurrent.futures import Future


@dataclass(slots=True)
class _Invocation:
    logger: LineLogger
    door: str
    fields: dict[str, Any] = field(default_factory=dict)
    """The fields of both log lines, the request's id among them."""
    correlation: str = ""
    trace: TraceContext | None = None
    counted: MetricTotals = field(default_factory=dict)
    beside: list["Future[Any]"] = field(default_factory=list)
    """The work that was started beside its own."""


logger = logging.getLogger(__name__)

# Names of OpenTelemetry's semantic conventions, where a field of ours means the same.
STATUS_CODE, ERROR_TYPE = "http.response.status_code", "error.type"
METHOD_NAME, TOOL_NAME = "mcp.method.name", "gen_ai.tool.name"

_current: ContextVar[_Invocation | None] = ContextVar("invocation", default=None)


@contextmanager
def begin(door: str, log: LineLogger, correlation: str, traceparent: str = "", **fields: Any) -> Iterator[None]:
    """Run a function's work under this correlation id and trace, and write at its end what it counted."""
    current = _Invocation(log, door, fields)
    before = _current.set(current)
    try:
        with span(door):
            bind_correlation(correlation, traceparent)
            yield
    finally:
        for one in current.beside:
            if error := one.exception():
                logger.error("work beside the request failed", extra={"defect": type(error).__name__})
        _current.reset(before)
        current.logger.keys = {}
        _write(current.counted, current)


def bind_correlation(correlation: str, traceparent: str = "") -> None:
    """Use this correlation id and trace from here on, if it is not empty: a step takes over those of its batch."""
    if (current := _current.get()) and correlation:
        current.correlation = correlation
        current.trace = trace = follow(traceparent, correlation)
        keys = {"correlation_id": correlation, "trace_id": trace.trace_id, "span_id": trace.span_id}
        current.logger.keys = keys
        annotate(correlation_id=correlation, trace_id=trace.trace_id)


def follow_trace(traceparent: str) -> None:
    """Continue the trace of a request's own field from here on."""
    if (current := _current.get()) and traceparent:
        bind_correlation(current.correlation, traceparent)


def correlation() -> str:
    """Return the correlation id; empty outside of an invocation."""
    current = _current.get()
    return current.correlation if current else ""


def trace_id() -> str:
    """Return the id of the trace; empty outside of an invocation."""
    current = _current.get()
    return current.trace.trace_id if current and current.trace else ""


def traceparent() -> str:
    """Return the header that continues the trace in another system; empty outside of an invocation."""
    current = _current.get()
    return current.trace.traceparent if current and current.trace else ""


def carried() -> dict[str, str]:
    """Return the fields by which a message to another function continues this one; none outside of an invocation."""
    current = _current.get()
    return {"correlation": current.correlation, "traceparent": traceparent()} if current else {}


def request_id() -> str:
    """Return the id of the request; empty outside of an invocation."""
    return str(fields().get("request", ""))


def door() -> str:
    """Return the name of the function; empty outside of an invocation."""
    current = _current.get()
    return current.door if current else ""


def log_request() -> None:
    """Log that the invocation began."""
    if current := _current.get():
        current.logger.info("request", extra=current.fields)


def log_exception() -> None:
    """Log the exception that is being handled, with its traceback."""
    (current.logger if (current := _current.get()) else logger).exception("request failed", extra=fields())


def fields() -> dict[str, Any]:
    """Return the fields of the invocation's log lines."""
    current = _current.get()
    return current.fields if current else {}


def add_fields(**fields: Any) -> None:
    """Add fields to the log lines that are still to come."""
    if current := _current.get():
        current.fields |= fields


def count(metric: Metric, value: float = 1, *, by: str = "") -> None:
    """Add to a metric; does nothing outside of an invocation."""
    if current := _current.get():
        key = (metric, by)
        current.counted[key] = current.counted.get(key, 0) + value


def count_error(code: str) -> None:
    """Count an error by its code, which the invocation's last log line names."""
    count(metrics.ERRORS, by=code)
    add_fields(**{ERROR_TYPE: code})


def count_now(metric: Metric) -> None:
    """Write 1 for a metric at once, so that its alarm is not lost if the sandbox ends."""
    if current := _current.get():
        _write({(metric, ""): 1}, current)


def beside[Result](work: Callable[[], Result]) -> Callable[[], Result]:
    """Start work in a thread, and return the function that waits for its result; the invocation waits for its end.

    It is for a request to a store whose answer the invocation does not need yet. Outside of an invocation it is done at
    once.
    """
    if (current := _current.get()) is None:
        done = work()
        return lambda: done
    from concurrent.futures import Future  # imported late: some functions never start such work

    started, work = Future[Result](), with_context(work)
    current.beside.append(started)

    def run() -> None:
        try:
            started.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits for the result
            started.set_exception(error)

    threading.Thread(target=run, name="beside", daemon=True).start()

    def result() -> Result:
        current.beside.remove(started)
        return started.result()

    return result


def with_context[**Params, Result](function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Return the function for a thread that works for this invocation: threads inherit no context variables."""
    current = _current.get()

    def run(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        before = _current.set(current)
        try:
            return function(*args, **kwargs)
        finally:
            _current.reset(before)

    return run


def _write(counted: Mapping[tuple[Metric, str], float], current: _Invocation) -> None:
    """Write metrics; a failure to write them never fails the request."""
    try:
        metrics.write(counted, correlation=current.correlation, trace=current.trace.trace_id if current.trace else "")
    except Exception:
        logger.exception("metrics not written")
