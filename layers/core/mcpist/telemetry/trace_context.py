"""Trace context: the id under which a request is followed through all systems that it reaches.

Source: https://www.w3.org/TR/trace-context/ and https://opentelemetry.io/docs/specs/otel/logs/data-model/
"""

import re
import secrets
from dataclasses import dataclass

# A later version may have more fields, which are ignored; ff is no version.
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_UUID = re.compile(r"(?!0{32})[0-9a-f]{32}")
NOT_SAMPLED = "00"


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
    if found and not (found[1] == "00" and found[5]):
        return TraceContext(found[2], span_id, found[4])
    digits = request_id.replace("-", "").lower()
    return TraceContext(digits if _UUID.fullmatch(digits) else secrets.token_hex(16), span_id)
