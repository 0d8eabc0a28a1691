"""Traces: the id under which a request is followed through all systems, and, if the setting is on, X-Ray's subsegments.

A subsegment has a name, our annotations and the code of an error or the class of an exception: no argument, no result
and no message of an exception. The decorators of powertools and the context managers of its SDK are not used, since
they record exceptions' messages.

Source: https://www.w3.org/TR/trace-context/ and https://opentelemetry.io/docs/specs/otel/logs/data-model/
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcpist.errors import McpistError
from mcpist.settings import settings

# A later version may have more fields, which are ignored; ff is no version.
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_UUID = re.compile(r"(?!0{32})[0-9a-f]{32}")
NOT_SAMPLED = "00"

_NOT_RECORDED = nullcontext()


@dataclass(frozen=True, slots=True)
class TraceContext:
    """The place of one invocation in a trace."""

    trace_id: str
    """32 hexadecimal digits, the same for all that a request causes."""
    span_id: str
    """16 hexadecimal digits of this invocation."""
    flags: str = NOT_SAMPLED

    @property
    def traceparent(self) -> str:
        """The header that is sent on."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


def follow(traceparent: str, request_id: str) -> TraceContext:
    """Return a new span of the trace of a header; of a new trace, which the request's id names, without a valid one."""
    span_id = secrets.token_hex(8)
    found = _TRACEPARENT.fullmatch(traceparent)
    # Version 00 ends after its flags; more than that is no header of this version.
    if found and not (found[1] == "00" and found[5]):
        return TraceContext(found[2], span_id, found[4])
    digits = request_id.replace("-", "").lower()
    return TraceContext(digits if _UUID.fullmatch(digits) else secrets.token_hex(16), span_id)


def span(name: str, **annotations: str) -> AbstractContextManager[None]:
    """Record the time that the block takes."""
    return _recorded(name, annotations) if settings().tracing else _NOT_RECORDED


@contextmanager
def _recorded(name: str, annotations: Mapping[str, str]) -> Iterator[None]:
    recorder = _recorder()
    subsegment = recorder.begin_subsegment(name)
    try:
        annotate(**annotations)
        yield
    except BaseException as error:
        subsegment.add_fault_flag()
        annotate(code=error.code if isinstance(error, McpistError) else type(error).__name__)
        raise
    finally:
        recorder.end_subsegment()


def annotate(**annotations: str) -> None:
    """Add annotations to the innermost span; traces can be searched by them."""
    if settings().tracing:
        for name, value in annotations.items():
            _recorder().put_annotation(name, value)


@cache
def _recorder() -> Any:
    """Return X-Ray's recorder; imported after a restore, since it opens a socket. It patches no library."""
    from aws_lambda_powertools import Tracer

    return Tracer(auto_patch=False).provider
