"""`make rehearse`: print a line for each part, and fail at the first that is not as it must be."""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from rehearsal import lifecycle
from rehearsal.engine import EngineFailed, running_engine
from rehearsal.report import RehearsalFailed


def main() -> int:
    """Run the rehearsal and return the exit code."""
    parser = argparse.ArgumentParser(prog="make rehearse", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the folder with the engine's log")
    parser.add_argument("--hold", action="store_true", help="only deploy, print the variables to reach it, and wait")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores the first
        signal.signal(number, signal.default_int_handler)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mcpist-rehearsal-", delete=not options.keep) as name:
        if options.keep:
            sys.stderr.write(f"folder {name}\n")
        try:
            with running_engine(Path(name)) as engine:
                lifecycle.rehearse(engine, Path(name), hold=options.hold)
        except (RehearsalFailed, EngineFailed) as error:
            sys.stderr.write(f"make rehearse: {error}\n")
            return 1
        except KeyboardInterrupt:
            return 0 if options.hold else 130
    if not options.hold:
        sys.stderr.write(f"rehearsed in {time.monotonic() - started:.0f} s\n")
    return 0


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main())
