"""One invocation of a door: its log lines, its metrics and its trace carry one id.

The id is made where a request comes in, and goes with it: into the header of the batch that it starts, and so to each
step, and in every message to the token broker.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpist.telemetry import metrics
from mcpist.telemetry.metrics import Metric, MetricTotals
from mcpist.telemetry.tracing import annotate, span

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


@dataclass(slots=True)
class _Invocation:
    logger: "Logger"
    correlation: str = ""
    counted: MetricTotals = field(default_factory=dict)


logger = logging.getLogger(__name__)

_current: ContextVar[_Invocation | None] = ContextVar("invocation", default=None)


@contextmanager
def begin(door: str, log: "Logger", correlation: str) -> Iterator[None]:
    """Do a door's work: under this id, and at its end what it counted is written."""
    current = _Invocation(log)
    before = _current.set(current)
    try:
        with span(door):
            bind_correlation(correlation)
            yield
    finally:
        _current.reset(before)
        current.logger.set_correlation_id(None)
        _write(current.counted, current)


def bind_correlation(correlation: str) -> None:
    """From here on the invocation goes by this id; a step, which began under its own, by that of its batch."""
    if (current := _current.get()) and correlation:
        current.correlation = correlation
        current.logger.set_correlation_id(correlation)
        annotate(correlation_id=correlation)


def correlation() -> str:
    """The id that the invocation goes by; empty outside of one."""
    current = _current.get()
    return current.correlation if current else ""


def count(metric: Metric, value: float = 1, *, by: str = "") -> None:
    """Add to a metric; outside of an invocation nobody reads it."""
    if current := _current.get():
        key = (metric, by)
        current.counted[key] = current.counted.get(key, 0) + value


def count_now(metric: Metric) -> None:
    """Write one of a metric at once, where an alarm must not be lost with the sandbox."""
    if current := _current.get():
        _write({(metric, ""): 1}, current)


def with_context[**Given, Result](function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function for a thread that works for this invocation: threads know of none by themselves."""
    current = _current.get()

    def run(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        before = _current.set(current)
        try:
            return function(*args, **kwargs)
        finally:
            _current.reset(before)

    return run


def _write(counted: Mapping[tuple[Metric, str], float], of: _Invocation) -> None:
    """Write metrics; a door's answer never waits for them to be right."""
    try:
        metrics.write(counted, correlation=of.correlation)
    except Exception:
        logger.exception("metrics not written")
