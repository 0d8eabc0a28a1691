"""Our own events: each door behind which files are stored tells of them."""

import os
import subprocess
import sys

from tests.faults import for_each

DOORS = ("mcp_endpoint", "rest_api", "step_runner", "console")


@for_each("door", DOORS)
def test_a_door_tells_of_stored_files_from_its_first_request_on(door: str) -> None:
    code = f"import {door}.handler; from mcpist.files import records; assert records.observers"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": "functions"})
