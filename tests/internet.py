"""The certificates that tests trust: none, but for the programs that fetch packages.

No test reaches further than loopback, and reading the machine's certificates takes each new HTTP client 25 ms of CPU.
"""

import os
from pathlib import Path

NOBODY = str(Path(__file__).with_name("expired_certificate.pem"))
VARIABLE = "SSL_CERT_FILE"
# Where the value from before is kept: workers inherit the environment of a process that has changed it.
BEFORE = "MCPIST_TESTS_SSL_CERT_FILE"


def trust_nobody() -> None:
    """Let HTTP clients of this process and its children trust one certificate, which has expired."""
    if os.environ.get(VARIABLE) != NOBODY:
        os.environ[BEFORE] = os.environ.get(VARIABLE, "")
        os.environ[VARIABLE] = NOBODY


def fetching_environment() -> dict[str, str]:
    """The environment of a program that fetches packages: as it was before the tests."""
    environment = {name: value for name, value in os.environ.items() if name not in {VARIABLE, BEFORE}}
    before = os.environ.get(BEFORE, "")
    return environment | ({VARIABLE: before} if before else {})
