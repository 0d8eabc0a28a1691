"""Sandboxes as seen from the embedded AWS: a zygote process for each function, and the processes that it forks."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from infra.local.invocation import Sandbox
from infra.local.names import REGION
from infra.local.pool import Pool
from infra.local.router import KeyHolder, Keyring
from infra.local.template import Function
from infra.source import ROOT

IMPORT_TIMEOUT_SECONDS = 60.0
EXIT_TIMEOUT_SECONDS = 5.0
# The variables that a sandbox inherits: how to reach the internet, and no credentials.
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_INHERITED_VARIABLES = ("PATH", *_CERTIFICATES, "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")


class HandlerImportError(Exception):
    """A handler could not be imported, or a before-snapshot hook failed."""

    def __init__(self, function: Function, trace: str) -> None:
        super().__init__(f"{function.id} ({function.handler}) does not start:\n{trace}")


@dataclass(frozen=True, slots=True)
class RunContext:
    """Values that all zygotes share."""

    endpoint_url: str
    """The URL of the embedded AWS."""
    secret_address: str
    """Its host and port, and this run's secret as the path."""
    logs: Path
    """The folder of the functions' logs."""
    keyring: Keyring
    sandboxes: dict[str, tuple[Sandbox, Pool]]


class ZygoteProcess:
    """Starts a function's sandboxes; `pool` must be set before the first fork."""

    def __init__(
        self, function: Function, context: RunContext, extra: Mapping[str, str], replaces: Self | None = None
    ) -> None:
        self.function = function
        self.pool: Pool | None = None
        self._context = context
        self.forked: int = replaces.forked if replaces else 0  # so that no two sandboxes of a function have one name
        self._lock = threading.Lock()
        self._known: dict[str, Sandbox] = {}
        self._control, theirs = socket.socketpair()
        context.logs.mkdir(parents=True, exist_ok=True)
        with theirs, (context.logs / f"{function.id}.log").open("ab") as log:
            self.process = _start(theirs, log, {**self._environment(), **extra})
        self._lines = self._control.makefile("rb")
        self._send(
            {
                "handler": function.handler,
                "path": [str(function.code), *(str(layer) for layer in function.layers)],
                "folder": str(function.code),
                "snap_start": function.snap_start,
            }
        )

    def wait_until_ready(self) -> None:
        """Wait until the handler is imported; raise `HandlerImportError` if that fails."""
        self._control.settimeout(IMPORT_TIMEOUT_SECONDS)
        try:
            line = self._lines.readline()
        except TimeoutError:
            raise HandlerImportError(
                self.function, f"its import took longer than {IMPORT_TIMEOUT_SECONDS:.0f} s"
            ) from None
        self._control.settimeout(None)
        message = json.loads(line) if line else {"broken": "its process ended; see its log"}
        if "broken" in message:
            raise HandlerImportError(self.function, message["broken"])
        threading.Thread(target=self._listen, name=f"zygote-{self.function.id}", daemon=True).start()

    def fork(self) -> Sandbox:
        """Start a sandbox, whose process then calls the runtime API."""
        assert self.pool is not None
        with self._lock:
            self.forked += 1
            sandbox = Sandbox(f"{self.function.id}-{self.forked}")
        self._known[sandbox.id] = sandbox
        self._context.sandboxes[sandbox.id] = (sandbox, self.pool)
        token = self._context.keyring.issue(KeyHolder(sandbox.id, self.function.id))
        environment = {
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": token,
            "AWS_LAMBDA_RUNTIME_API": f"{self._context.secret_address}/runtime/{sandbox.id}",
            "AWS_LAMBDA_LOG_STREAM_NAME": sandbox.id,
        }
        self._send({"fork": sandbox.id, "environment": environment})
        return sandbox

    def kill(self, sandbox: Sandbox) -> None:
        """End a sandbox with SIGKILL and wait for its end."""
        self._send({"kill": sandbox.id})
        sandbox.exited.wait(EXIT_TIMEOUT_SECONDS)

    def close(self) -> None:
        """End the zygote and all its sandboxes."""
        self._control.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._lines.close()
        self._control.close()

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._control.sendall(json.dumps(message).encode() + b"\n")

    def _listen(self) -> None:
        assert self.pool is not None
        for line in self._lines:
            message = json.loads(line)
            if "forked" in message:
                self._known[message["forked"]].pid = message["pid"]
            elif "ended" in message:
                self.pool.ended(self._known.pop(message["ended"]), _reason(message["status"]))
        for sandbox in list(self._known.values()):
            self.pool.ended(sandbox, "the zygote of the function ended")

    def _environment(self) -> dict[str, str]:
        """Return Lambda's variables, and those that keep a sandbox away from the owner's AWS account."""
        function, context = self.function, self._context
        # Proxies are written in either case, and AWS's variables only in capitals.
        owners = {
            name: value
            for name in _INHERITED_VARIABLES
            if (value := os.environ.get(name) or os.environ.get(name.lower()))
        }
        return {
            **owners,
            "NO_PROXY": ",".join(filter(None, [owners.get("NO_PROXY"), "127.0.0.1,localhost"])),
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": context.endpoint_url,
            "LOCAL_SERVICES": "on",
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start" if function.snap_start else "on-demand",
            "AWS_LAMBDA_LOG_FORMAT": function.log_format,
            **({"AWS_LAMBDA_LOG_LEVEL": function.log_level} if function.log_format == "JSON" else {}),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
            "LAMBDA_TASK_ROOT": str(function.code),
            "_HANDLER": function.handler,
            # SnapStart provides credentials this way, since those read before the snapshot must not last.
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://{context.secret_address}/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": context.keyring.issue(KeyHolder(f"{function.id}-zygote", function.id)),
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            # macOS ends forked processes in which some of its frameworks start.
            "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",
            **function.environment,
        }


def _start(theirs: socket.socket, log: IO[bytes], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", "infra.local.zygote", str(theirs.fileno())],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )


def _reason(status: int) -> str:
    """Return Lambda's message for the end of a process."""
    if status == 0:
        return "Runtime exited without providing a reason"
    if status == -9:
        return "Runtime exited with error: signal: killed"
    end = f"exit status {status}" if status > 0 else f"signal: {-status}"
    return f"Runtime exited with error: {end}"
