"""The folders of commands on this machine: the PATH, and those that `make` has installed, such as uvx."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from mcpist_services.upstream.configuration import UpstreamConfiguration

INSTALLED = Path(__file__).resolve().parents[2] / ".tools/bin"


def tool_path() -> str:
    """Return the PATH with the folder of what `make` has installed at its end."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(dict.fromkeys((*folders, str(INSTALLED))))


def report_missing_commands(configured: UpstreamConfiguration, report: Callable[[str], None]) -> None:
    """Say which stdio servers cannot start, since their commands are not installed here."""
    for name, server in configured.servers.items():
        if server.type == "stdio" and shutil.which(server.command, path=server.env.get("PATH", tool_path())) is None:
            report(f"the server {name} cannot start: there is no command {server.command} here")
