"""Checks before a deployment whether Lambda could run packaged servers and programs: the files, not what they do.

Executables: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
"""

import os
import re
import struct
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from infra.cli.document import CommandResult
from infra.local.intrinsics import read_yaml
from infra.source import TEMPLATE
from mcpist.errors import InvalidConfiguration
from mcpist.public_address import is_public
from mcpist_services.programs.declaration import Declaration
from mcpist_services.upstream.configuration import UpstreamConfiguration, UpstreamServer

CONFIG_LAYER = PurePosixPath("/opt/config")
PACKAGE_RUNNERS = frozenset(
    {"bun", "bunx", "deno", "docker", "npm", "npx", "pipx", "pnpm", "podman", "uv", "uvx", "yarn"}
)
PYTHONS = frozenset({"python", "python3", "python3.13"})
READABLE_PARAMETERS = "/mcpist/{stack}/upstreams"
_READABLE_PARAMETER = re.compile(READABLE_PARAMETERS.format(stack=r"[A-Za-z][A-Za-z0-9-]*") + "/.")
HINT = "put it into layers/config and name it /opt/config/..."
MACHINES = {"x86_64": 62, "arm64": 183}
LOADERS = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}
"""The dynamic loader of Lambda's Amazon Linux 2023; there is none of musl."""
INTERPRETERS = frozenset({"/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash"})
FOUND_BY_ENV = frozenset({"python3", "python3.13", "sh", "bash"})
EXECUTABLE_TYPES = (2, 3)
LOADER_SEGMENT = 3
HEADER_BYTES = 64


def check_deployable(file: Path, configured: UpstreamConfiguration) -> CommandResult:
    """Check that Lambda could run a file's servers; InvalidConfiguration with all problems if it could not."""
    problems = [{"field": field, "problem": problem} for field, problem in undeployable(configured, file.parent)]
    if problems:
        raise InvalidConfiguration(path=str(file), **problems[0]).with_details(problems=problems[1:])
    sizes = {"servers": len(configured.servers), "categories": len(configured.all_categories)}
    counts = ", ".join(f"{count} {what}" for what, count in sizes.items())
    return CommandResult(metadata={"file": str(file), **sizes}, drawing=f"{file}: {counts}; Lambda can run them")


def undeployable(configuration: UpstreamConfiguration, folder: Path) -> Iterator[tuple[str, str]]:
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
    private = f"{host} is a private or reserved address, and functions reach only the internet"
    return "" if is_public(address) else private


def undeployable_programs(declaration: Declaration, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the problems that keep programs of a declaration from running on Lambda, each with its place."""
    for index, tool in enumerate(declaration.tools):
        file = folder / declaration.name / tool.program
        if problem := problem_of(file, architecture()):
            yield {"field": f"{declaration.name}.json: tools.{index}.argv.0", "problem": f"{tool.program} {problem}"}


def architecture() -> str:
    """Return the processors of the template's functions."""
    found: str = read_yaml(TEMPLATE)["Globals"]["Function"]["Architectures"][0]
    return found


def problem_of(file: Path, processor: str) -> str:
    """Return why Lambda could not run a file; empty if it could."""
    if not file.is_file():
        return f"is not in the folder {file.parent.name}"
    if not os.access(file, os.X_OK):
        return "is not executable: chmod +x"
    with file.open("rb") as opened:
        begin = opened.read(4_096)
    if begin.startswith(b"#!"):
        return _script_problem(begin)
    if begin.startswith(b"\x7fELF") and len(begin) >= HEADER_BYTES:
        return _elf_problem(file.read_bytes(), processor)
    return "is neither a script nor an executable of Linux"


def _script_problem(begin: bytes) -> str:
    words = begin.partition(b"\n")[0].removeprefix(b"#!").decode(errors="replace").strip().split()
    path = words[0] if words else ""
    if path in INTERPRETERS or (path == "/usr/bin/env" and words[1:2] and words[1] in FOUND_BY_ENV):
        return ""
    known = "/bin/sh, /bin/bash, /usr/bin/env python3, sh or bash"
    return f"is a script of {' '.join(words) or 'nothing'}, and Lambda has only {known}"


def _elf_problem(content: bytes, processor: str) -> str:
    """Return why an ELF file does not run: its machine, its kind, or the loader that it asks for."""
    if content[4:6] != b"\x02\x01":
        return f"is no 64-bit program of {processor}"
    kind, machine = struct.unpack_from("<HH", content, 16)
    if machine != MACHINES[processor]:
        made_for = next((name for name, number in MACHINES.items() if number == machine), f"machine {machine}")
        return f"is made for {made_for}, and the functions run on {processor}"
    if kind not in EXECUTABLE_TYPES:
        return "is no executable"
    loader = _loader(content)
    return f"needs {loader}, which Lambda does not have" if loader not in {"", LOADERS[processor]} else ""


def _loader(content: bytes) -> str:
    """Return the dynamic loader that a program names; empty for a static one and for a broken file."""
    try:
        (table,) = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        for place in range(table, table + size * count, size):
            (segment,) = struct.unpack_from("<I", content, place)
            offset, _, _, length = struct.unpack_from("<QQQQ", content, place + 8)
            if segment == LOADER_SEGMENT:
                return content[offset : offset + length].rstrip(b"\0").decode(errors="replace")
    except (struct.error, ValueError):
        return "a loader that cannot be read"
    return ""
