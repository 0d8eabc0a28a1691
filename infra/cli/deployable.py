"""Checks before a deployment whether Lambda could run the servers of an upstreams' file."""

import os
import re
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from infra.cli.document import CommandResult
from mcpist.errors import InvalidConfiguration
from mcpist_services.upstream.configuration import Configuration, UpstreamServer

CONFIG_LAYER = PurePosixPath("/opt/config")
PACKAGE_RUNNERS = frozenset(
    {"bun", "bunx", "deno", "docker", "npm", "npx", "pipx", "pnpm", "podman", "uv", "uvx", "yarn"}
)
PYTHONS = frozenset({"python", "python3", "python3.13"})
READABLE_PARAMETERS = "/mcpist/{stack}/upstreams"
_READABLE_PARAMETER = re.compile(READABLE_PARAMETERS.format(stack=r"[A-Za-z][A-Za-z0-9-]*") + "/.")
HINT = "put it into layers/config and name it /opt/config/..."


def check_deployable(file: Path, configured: Configuration) -> CommandResult:
    """Check that Lambda could run a file's servers; InvalidConfiguration with all problems if it could not."""
    problems = [{"field": field, "problem": problem} for field, problem in undeployable(configured, file.parent)]
    if problems:
        raise InvalidConfiguration(path=str(file), **problems[0]).with_details(problems=problems)
    sizes = {"servers": len(configured.servers), "categories": len(configured.all_categories)}
    counts = ", ".join(f"{count} {what}" for what, count in sizes.items())
    return CommandResult(metadata={"file": str(file), **sizes}, drawing=f"{file}: {counts}; Lambda can run them")


def undeployable(configuration: Configuration, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the servers that cannot run in a deployment, each with the reason; `folder` becomes /opt/config."""
    for name, server in configuration.servers.items():
        problem = _unpackaged(server, folder) if server.type == "stdio" else _unreachable(server.url)
        if problem:
            yield f'mcpServers["{name}"].{"command" if server.type == "stdio" else "url"}', problem
        for reference in sorted(server.references):
            if reference.startswith("ssm:") and not _READABLE_PARAMETER.match(reference.removeprefix("ssm:")):
                only = f"the functions may read parameters only below {READABLE_PARAMETERS.format(stack='STACK')}"
                yield f'mcpServers["{name}"].{"env" if server.type == "stdio" else "headers"}', f"{reference}: {only}"


def _unpackaged(server: UpstreamServer, folder: Path) -> str:
    """Return why a command is not on Lambda, or an empty text."""
    command = PurePosixPath(server.command)
    if command.name in PACKAGE_RUNNERS:
        return f"{command.name} fetches a server when it starts, and Lambda's disk is read-only: {HINT}"
    if command.is_relative_to(CONFIG_LAYER):
        file = _local_path(folder, command)
        if not file.is_file():
            return f"{command.relative_to(CONFIG_LAYER)} is not in {folder}"
        return "" if os.access(file, os.X_OK) else f"{command.relative_to(CONFIG_LAYER)} is not executable: chmod +x"
    if server.command in PYTHONS:
        return _unpackaged_python(server, folder)
    return f"{server.command} is not on Lambda: {HINT}"


def _unpackaged_python(server: UpstreamServer, folder: Path) -> str:
    """Return why a Python server is not on Lambda: its script or module must be in the config layer."""
    first, *rest = server.args or ("",)
    if first == "-m" and rest:
        paths = [PurePosixPath(path) for path in server.env.get("PYTHONPATH", "").split(":")]
        places = [
            _local_path(folder, path) / rest[0].partition(".")[0] for path in paths if path.is_relative_to(CONFIG_LAYER)
        ]
        found = any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)
        return "" if found else f"the module {rest[0]} is in no folder of its PYTHONPATH: {HINT}"
    script = PurePosixPath(first)
    found = script.is_relative_to(CONFIG_LAYER) and _local_path(folder, script).is_file()
    return "" if found else f"{first or 'its script'} is not on Lambda: {HINT}"


def _local_path(folder: Path, path: PurePosixPath) -> Path:
    return folder / path.relative_to(CONFIG_LAYER)


def _unreachable(url: str) -> str:
    """Return why no function may connect to a URL, judged by its text, or an empty text."""
    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        local = host == "localhost" or host.endswith((".localhost", ".local", ".internal"))
        return f"{host} is a name inside a network, and functions reach only the internet" if local else ""
    return (
        "" if address.is_global else f"{host} is a private or reserved address, and functions reach only the internet"
    )
