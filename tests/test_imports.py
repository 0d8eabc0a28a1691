"""What each function imports before its first request: CPU that every cold start pays."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks.imports import MAX_RATIOS, packages
from infra.source import ROOT

# Each has its reason to be imported later, or never.
LATE = {
    *("boto3", "botocore.session", "jsonschema", "uvicorn", "httpx2", "multipart", "pg8000", "pymysql"),
    *("aws_lambda_powertools", "mcp", "mcp_types", "jinja2", "jwt", "starlette"),
}
USED = {
    "mcp_endpoint": {"mcp", "mcp_types", "starlette", "jwt"},
    "console": {"jinja2", "jwt"},
    "rest_api": {"aws_lambda_powertools", "jwt"},
    "token_broker": {"jwt"},
    "login": {"jwt"},
}
MAX_MODULES = {
    "mcp_endpoint": 630,
    "console": 590,
    "rest_api": 560,
    "step_runner": 380,
    "token_broker": 400,
    "login": 430,
    "program_runner": 360,
    "janitor": 360,
}
PROBE = "import json, sys, {0}.handler; print(json.dumps(sorted(sys.modules)))"


@pytest.mark.parametrize("function", sorted(MAX_RATIOS))
def test_a_function_imports_what_its_first_request_needs_and_no_more(function: str) -> None:
    rooms = [str(ROOT / name) for name in ("functions", "layers/core", "layers/services")]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(rooms), "UPSTREAMS": "/nowhere.json"}
    command = [sys.executable, "-c", PROBE.format(function)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    imported = set(json.loads(done.stdout.splitlines()[-1]))
    assert LATE & imported == USED.get(function, set())
    assert len(imported) <= MAX_MODULES[function]


def test_the_time_of_imports_is_summed_by_package() -> None:
    text = "import time: self [us] | cumulative | imported package\nimport time:       120 |        150 |   mcp.types\n"
    assert packages(f"{text}import time:        30 |         30 |     mcp\nimport time: 7 | 7 | re\n") == {
        "mcp": 150,
        "re": 7,
    }
