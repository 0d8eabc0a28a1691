"""W3C trace context: what is accepted, what is begun anew, and what every line and row has of it."""

import io
import json
import re

import pytest

from mcpist.audit import record as audit
from mcpist.telemetry import invocation
from mcpist.telemetry.log_lines import LineLogger
from mcpist.telemetry.tracing import follow
from tests.faults import for_each

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
REQUEST = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"


@pytest.mark.parametrize(
    ("header", "flags"),
    [
        (f"00-{TRACE}-{SPAN}-01", "01"),
        (f"00-{TRACE}-{SPAN}-00", "00"),
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", "01"),
    ],
)
def test_a_valid_trace_is_continued_by_a_span_of_our_own(header: str, flags: str) -> None:
    ours = follow(header, REQUEST)
    assert re.fullmatch(rf"00-{TRACE}-(?!{SPAN})[0-9a-f]{{16}}-{flags}", ours.traceparent)
    assert follow(header, REQUEST).span_id != ours.span_id


@for_each(
    "header",
    [
        *("", "x", f"00-{TRACE}-{SPAN}", f"00-{TRACE.upper()}-{SPAN}-01", f"00-{TRACE[1:]}-{SPAN}-01"),
        *(f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"ff-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01-x"),
        *(f"00-{TRACE}-{SPAN}-01\n", f"00-{TRACE}-{SPAN}-01\r\nx: y", f" 00-{TRACE}-{SPAN}-01"),
    ],
)
def test_an_invalid_one_begins_a_new_trace_which_the_request_names(header: str) -> None:
    assert follow(header, REQUEST).trace_id == REQUEST.replace("-", "")
    assert follow(header, REQUEST).flags == "00"


@pytest.mark.parametrize("request_id", ["request-1", "", "0" * 32])
def test_a_request_without_a_uuid_has_a_random_trace(request_id: str) -> None:
    first, second = (follow("", request_id).trace_id for _ in range(2))
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert first != second


def test_every_line_and_row_of_an_invocation_has_the_trace_and_no_other() -> None:
    stream = io.StringIO()
    logger = LineLogger(stream)
    with invocation.begin("door", logger, REQUEST, f"00-{TRACE}-{SPAN}-01"):
        logger.info("in", extra={})
        row = audit.new_row(
            organization="acme", user="uma", roles=[], event="use", service="s", account="", outcome="", request=""
        )
        carried = invocation.carried()
        invocation.bind_correlation("batch", f"00-{'1' * 32}-{SPAN}-01")
        logger.info("step", extra={})
    logger.info("outside", extra={})
    found = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line.get("trace_id") for line in found] == [TRACE, "1" * 32, None]
    assert carried == {"correlation": REQUEST, "traceparent": f"00-{TRACE}-{found[0]['span_id']}-01"}
    assert row["trace"] == TRACE
    assert (invocation.traceparent(), invocation.trace_id(), invocation.carried()) == ("", "", {})
