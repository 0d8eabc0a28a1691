"""The engine: PyPI ministack, which runs CloudFormation, Lambda and API Gateway as processes of this machine."""

import os
import re
import signal
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2

from infra.local.names import REGION
from infra.local.server import listen
from rehearsal.certificates import Certificates, write_certificates
from rehearsal.front import running_front

PYTHON_VARIABLE = "ENGINE"  # the Python of the environment in which `make` has installed it
START_SECONDS = 120
STOP_SECONDS = 5  # its state is thrown away
# Where the engine serves an HTTP API: the host names that AWS would give it.
API_DOMAIN = f"{REGION}.amazonaws.com"
API_HOST_SUFFIX = f".execute-api.{API_DOMAIN}"
ACCOUNT = "000000000000"
ROOT_KEY = "rehearsal"
_SETTING = re.compile(r"^(AWS_|PYTHON|VIRTUAL_ENV|SSL_)|_PROXY$", re.IGNORECASE)


class EngineFailed(Exception):
    """The engine did not start; the message holds the end of its log."""


@dataclass(frozen=True)
class Engine:
    """A running engine."""

    port: int
    certificates: Certificates
    log: Path
    """The file of its own output."""
    proxy: str = ""
    """The URL of the proxy by which HTTP clients reach the APIs that it serves."""

    @property
    def url(self) -> str:
        """The endpoint of all its AWS services."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which AWS's tools reach it, as its root user."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ROOT_KEY,
            "AWS_SECRET_ACCESS_KEY": ROOT_KEY,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CA_BUNDLE": str(self.certificates.authority),
            "NO_PROXY": "127.0.0.1",
        }

    @property
    def client_environment(self) -> dict[str, str]:
        """The same, with which HTTP clients reach its APIs as well."""
        trusted = str(self.certificates.authority)
        return self.environment | {"HTTPS_PROXY": self.proxy, "SSL_CERT_FILE": trusted}

    @cached_property
    def _session(self) -> Any:
        import boto3

        return boto3.session.Session(ROOT_KEY, ROOT_KEY, region_name=REGION)

    def client(self, service: str) -> Any:
        """Return a boto3 client."""
        return self._session.client(service, endpoint_url=self.url, verify=str(self.certificates.authority))

    def resource(self, service: str) -> Any:
        """Return a boto3 resource."""
        return self._session.resource(service, endpoint_url=self.url, verify=str(self.certificates.authority))


@contextmanager
def running_engine(folder: Path) -> Iterator[Engine]:
    """Start the engine on a free loopback port with its state in a folder; end its processes with the context."""
    with listen("127.0.0.1", 0) as probe:
        port = int(probe.getsockname()[1])
    engine = Engine(port, write_certificates(folder, f"*{API_HOST_SUFFIX}"), folder / "engine.log")
    with engine.log.open("wb") as log, running_front(API_HOST_SUFFIX, port) as proxy:
        process = subprocess.Popen(  # noqa: S603 - the command is the Makefile's
            [os.environ[PYTHON_VARIABLE], "-m", "ministack"],
            cwd=folder,
            env=_environment(engine, folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait_until_ready(engine, process)
            yield replace(engine, proxy=proxy)
        finally:
            _stop(process)


def _environment(engine: Engine, folder: Path) -> dict[str, str]:
    """Return the engine's variables: it enforces roles and TLS, and inherits no AWS settings and no proxy."""
    own = {name: value for name, value in os.environ.items() if not _SETTING.search(name)}
    return own | {
        "AUTH": "true",
        "AWS_ACCESS_KEY_ID": ROOT_KEY,
        "AWS_SECRET_ACCESS_KEY": ROOT_KEY,
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(engine.port),
        "IOT_MTLS_ENABLED": "0",
        "MINISTACK_HOST": API_DOMAIN,
        "MINISTACK_SSL_CERT": str(engine.certificates.chain),
        "MINISTACK_SSL_KEY": str(engine.certificates.key),
        "STATE_DIR": str(folder),
        "TMPDIR": str(folder),
        "USE_SSL": "1",
    }


def _wait_until_ready(engine: Engine, process: subprocess.Popen[bytes]) -> None:
    trusted = ssl.create_default_context(cafile=engine.certificates.authority)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx2.get(f"{engine.url}/_ministack/health", timeout=1, verify=trusted, trust_env=False).raise_for_status()
        except httpx2.HTTPError:
            time.sleep(0.1)
        else:
            return
    raise EngineFailed(f"The engine does not start:\n{engine.log.read_text('utf-8')[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the engine and the functions' processes, all of the session that it was started with."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_SECONDS)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
