"""The additions of an owner to a deployment on this machine: imported APIs, programs, and commands for MCP servers."""

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.source import ROOT
from mcpist_services.described.overlay_files import compile_overlays, load_folder
from mcpist_services.programs import module as programs
from mcpist_services.programs.declaration import Declaration
from mcpist_services.upstream.configuration import UpstreamConfiguration

INSTALLED = ROOT / ".tools/bin"


@contextmanager
def local_programs(source: Path, report: Callable[[str], None]) -> Iterator[tuple[tuple[str, ...], Mapping[str, str]]]:
    """Yield the modules of a declaration of programs or of a folder of them, and the settings with which they run.

    Only what they name may run. They and their packages are copied, so that a change reaches no running deployment in
    part. A wrong declaration and a program that is not installed are reported and not offered; everything else starts.
    """
    loaded = programs.load_folder(source)
    for error in loaded.problems.values():
        report(f"left out {error.details['field']}: {error.details['problem']}")
    beside = source.parent if source.is_file() else source
    with TemporaryDirectory(prefix="mcpist-programs-") as name:
        folder = Path(name)
        # A link would let a change reach a running deployment in part.
        for module in loaded.declarations:
            shutil.copy(beside / f"{module}.json", folder)
            if (beside / module).is_dir():
                shutil.copytree(beside / module, folder / module)
        installed = {path for one in loaded.declarations.values() for path in _installed(one, folder, report)}
        environment = {"PROGRAMS": str(folder), "ALLOWED_PROGRAMS": ",".join(sorted(installed))}
        yield tuple(name for name in loaded.declarations if (folder / f"{name}.json").exists()), environment


def _installed(declaration: Declaration, folder: Path, report: Callable[[str], None]) -> set[str]:
    """Return the paths of the programs that a declaration takes from this machine; tools without theirs are removed."""
    found: dict[str, str | None] = {}
    for program in dict.fromkeys(tool.program for tool in declaration.tools):
        packaged = (folder / declaration.name / program).is_file()
        found[program] = "" if packaged else None if "/" in program else shutil.which(program)
        if found[program] is None:
            report(f"{declaration.name}: the program {program} is neither in its folder nor installed here")
    if None in found.values():
        offered = {tool.name for tool in declaration.tools if found[tool.program] is not None}
        _keep_tools(folder / f"{declaration.name}.json", offered)
    return {path for path in found.values() if path}


def _keep_tools(file: Path, names: Collection[str]) -> None:
    """Leave only some tools in the copy of a declaration; without any it is removed."""
    declared = json.loads(file.read_text("utf-8"))
    declared["tools"] = [tool for tool in declared["tools"] if tool["name"] in names]
    if declared["tools"]:
        file.write_text(json.dumps(declared), "utf-8")
    else:
        file.unlink()


@contextmanager
def compiled_apis(folder: Path) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Compile the imported APIs, which may be on this machine; yield their names and the folder."""
    overlays = load_folder(folder)
    with TemporaryDirectory(prefix="mcpist-apis-") as compiled:
        compile_overlays(overlays, Path(compiled), loopback=True)
        yield tuple(overlay.name for overlay in overlays), Path(compiled)


def tool_path() -> str:
    """Return the PATH with the folder of what `make` has installed at its end."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(dict.fromkeys((*folders, str(INSTALLED))))


def report_missing_commands(configured: UpstreamConfiguration, report: Callable[[str], None]) -> None:
    """Say which stdio servers cannot start, since their commands are not installed here."""
    for name, server in configured.servers.items():
        if server.type == "stdio" and shutil.which(server.command, path=server.env.get("PATH", tool_path())) is None:
            report(f"the server {name} cannot start: there is no command {server.command} here")
