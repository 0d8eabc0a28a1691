"""A fresh process as a sandbox of the broker: measures the CPU of its handler's import, then of a warm `resolve`.

Run as `python -m benchmarks.broker_sandbox MODULE [MESSAGE]`; prints `{"import_ms"}`, or with a message for
the module's handler `{"import_ms", "resolve_us"}`, after the handler's log lines.
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.sandbox import Context, microseconds


def main(name: str, message: str = "") -> None:
    """Measure one module."""
    began = time.process_time()
    module = import_module(name)
    seen = {"import_ms": (time.process_time() - began) * 1000}
    if message:
        event = json.loads(Path(message).read_text("utf-8"))
        answer = module.handler(event, Context())
        assert "result" in answer, answer["error"]
        seen["resolve_us"] = microseconds(lambda: module.handler(event, Context()))
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
