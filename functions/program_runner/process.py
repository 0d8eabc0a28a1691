"""Starting foreign code: always below a supervisor, and with an environment of its own."""

import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

# How programs are found and how their texts are read: of our own environment a process gets no more.
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
# How a server, which may use the network, reaches it from this machine.
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_FUNCTIONS = str(Path(__file__).resolve().parents[1])
# The supervisor imports no site packages, so that it starts quickly.
_SUPERVISE = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from program_runner.confinement.supervisor import main; main()"
)  # fmt: skip


def supervisor_command(control: int) -> tuple[str, ...]:
    """Return the command that starts a supervisor whose order comes over this inherited socket."""
    return (sys.executable, "-I", "-S", "-c", _SUPERVISE, str(control), _FUNCTIONS)


def supervisor_options(control: socket.socket) -> dict[str, Any]:
    """Return the options of subprocess and asyncio with which a supervisor inherits nothing but its socket."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return {**streams, "env": inherited_environment(), "pass_fds": [control.fileno()], "start_new_session": True}


def inherited_environment() -> dict[str, str]:
    """Return the variables that every process gets: no credentials and no settings of ours."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def network_environment() -> dict[str, str]:
    """Return the variables of proxies and certificates."""
    proxies = {name: value for name in _PROXIES if (value := os.environ.get(name) or os.environ.get(name.lower()))}
    small = {name.lower(): value for name, value in proxies.items()}  # some programs know only these
    return proxies | small | {name: os.environ[name] for name in _CERTIFICATES if name in os.environ}


@cache
def has_namespaces() -> bool:
    """Whether this kernel gives a process namespaces of its own, which keep it from looking into others."""
    attempt = "import os; os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWPID)"
    command = [sys.executable, "-I", "-S", "-c", attempt]
    tried = subprocess.run(command, stderr=subprocess.DEVNULL, env=inherited_environment(), check=False)  # noqa: S603
    return tried.returncode == 0
