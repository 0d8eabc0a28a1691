"""Measures: numbers about each conversion for the log, the metrics and the audit; never an argument or a content."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mcpist.errors import InternalError, McpistError
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import (
    PROGRAM_ERRORS,
    PROGRAM_FILES,
    PROGRAM_INPUT_BYTES,
    PROGRAM_TIME,
    PROGRAM_TOKENS_SAVED,
)

logger = logging.getLogger(__name__)


def record(command: str, *, tokens_before: int, tokens_after: int, **measures: int) -> dict[str, int]:
    """Log and count a conversion, and return its numbers for the audit row.

    The token efficiency is the share of all tokens of the run's output that the answer leaves out.
    """
    saved = max(0, tokens_before - tokens_after)
    efficiency = round(saved / tokens_before, 3) if tokens_before else 0.0
    logger.info("program", extra={"command": command, **measures, "token_efficiency": efficiency})
    count(PROGRAM_TIME, measures["execution_time_ms"], by=command)
    count(PROGRAM_FILES, measures["output_file_count"], by=command)
    count(PROGRAM_INPUT_BYTES, measures["input_size_bytes"], by=command)
    count(PROGRAM_TOKENS_SAVED, saved, by=command)
    return {**measures, "tokens_before": tokens_before, "tokens_after": tokens_after}


@contextmanager
def failures_counted(command: str) -> Iterator[None]:
    """Log and count a failed conversion by the kind of its error."""
    code = InternalError.code
    try:
        yield
    except McpistError as error:
        code = error.code
        raise
    else:
        code = ""
    finally:
        if code:
            logger.info("program failed", extra={"command": command, "code": code})
            count(PROGRAM_ERRORS, by=code)
