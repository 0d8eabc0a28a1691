"""Checks before a deployment whether Lambda could run packaged programs: the files, not what they do.

Executables: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.cli.checkout import template_file
from infra.local.intrinsics import read_yaml
from mcpist_services.programs.declaration import Declaration

MACHINES = {"x86_64": 62, "arm64": 183}
LOADERS = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}
"""The dynamic loader of Lambda's Amazon Linux 2023; there is none of musl."""
INTERPRETERS = frozenset({"/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash"})
FOUND_BY_ENV = frozenset({"python3", "python3.13", "sh", "bash"})
EXECUTABLE_TYPES = (2, 3)
LOADER_SEGMENT = 3
HEADER_BYTES = 64


def undeployable(declaration: Declaration, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what keeps programs of a declaration from running on Lambda, each with its place."""
    for index, tool in enumerate(declaration.tools):
        file = folder / declaration.name / tool.program
        if problem := problem_of(file, architecture()):
            yield {"field": f"{declaration.name}.json: tools.{index}.argv.0", "problem": f"{tool.program} {problem}"}


def architecture() -> str:
    """Return the processors of the template's functions."""
    found: str = read_yaml(template_file())["Globals"]["Function"]["Architectures"][0]
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
