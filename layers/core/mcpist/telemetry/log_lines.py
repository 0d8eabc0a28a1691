"""The log lines of a function: JSON objects on standard output, which Lambda takes as they are."""

import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from pydantic_core import to_json

type Level = Literal["INFO", "ERROR"]

# By the level that the function is given: what it leaves out.
_LEFT_OUT: Mapping[str, tuple[Level, ...]] = {
    **dict.fromkeys(("WARN", "WARNING", "ERROR"), ("INFO",)),
    **dict.fromkeys(("CRITICAL", "FATAL"), ("INFO", "ERROR")),
}


class LineLogger:
    """Writes lines to a stream; without one to standard output."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.keys: dict[str, str] = {}
        """The fields of all lines, in front of their own."""
        self._stream = stream
        self._left_out = _LEFT_OUT.get(os.environ.get("AWS_LAMBDA_LOG_LEVEL", "").upper(), ())
        self._service = os.environ.get("POWERTOOLS_SERVICE_NAME", "")

    def info(self, message: str, *, extra: Mapping[str, Any], exc_info: BaseException | None = None) -> None:
        """Write a line about what was expected."""
        self._write("INFO", message, extra, exc_info)

    def error(self, message: str, *, extra: Mapping[str, Any], exc_info: BaseException | None = None) -> None:
        """Write a line about a fault on our side."""
        self._write("ERROR", message, extra, exc_info)

    def exception(self, message: str, *, extra: Mapping[str, Any]) -> None:
        """Write a line about the exception that is being handled."""
        self._write("ERROR", message, extra, sys.exception())

    def _write(self, level: Level, message: str, extra: Mapping[str, Any], error: BaseException | None) -> None:
        if level in self._left_out:
            return
        line = {
            "level": level,
            "message": message,
            "timestamp": datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds"),
            "service": self._service,
            **self.keys,
            **extra,
        }
        if error:
            line["exception"] = "".join(traceback.format_exception(error))
            line["exception_name"] = type(error).__name__
        write_line(line, self._stream)


def write_line(line: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Write an object as one line, at once; what is no Unicode in a text becomes a question mark."""
    target = stream or sys.stdout
    try:
        text = to_json(line, fallback=str)
    except ValueError:  # a half of a surrogate pair
        text = json.dumps(line, ensure_ascii=False, default=str, separators=(",", ":")).encode(errors="replace")
    target.write(text.decode() + "\n")
    target.flush()
