"""Programs of a deployment on this machine: those in packages, and those that are installed here."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mcpist_services.programs.declaration import Declaration
from mcpist_services.programs.module import load_folder


@dataclass(frozen=True, slots=True)
class LocalPrograms:
    """The declared programs, as the functions see them."""

    names: tuple[str, ...]
    """The names of the modules."""
    environment: Mapping[str, str]


@contextmanager
def local_programs(source: Path, report: Callable[[str], None]) -> Iterator[LocalPrograms]:
    """Yield the programs of a declaration or of a folder of them; only what they name may run.

    They and their packages are copied, so that a change reaches no running deployment in part. A wrong declaration and
    a program that is not installed are reported, and everything else starts.
    """
    loaded = load_folder(source)
    for error in loaded.problems.values():
        report(f"left out {error.details['field']}: {error.details['problem']}")
    beside = source.parent if source.is_file() else source
    with TemporaryDirectory(prefix="mcpist-programs-") as name:
        folder = Path(name)
        for module in loaded.declarations:
            shutil.copy(beside / f"{module}.json", folder)
            if (beside / module).is_dir():
                shutil.copytree(beside / module, folder / module)
        installed = {path for one in loaded.declarations.values() for path in _installed(one, folder, report)}
        environment = {"PROGRAMS": str(folder), "ALLOWED_PROGRAMS": ",".join(sorted(installed))}
        yield LocalPrograms(tuple(loaded.declarations), environment)


def _installed(declaration: Declaration, folder: Path, report: Callable[[str], None]) -> Iterator[str]:
    """Yield the paths of the programs that a declaration takes from this machine."""
    for program in dict.fromkeys(tool.program for tool in declaration.tools):
        if (folder / declaration.name / program).is_file():
            continue
        path = None if "/" in program else shutil.which(program)
        if path is None:
            report(f"{declaration.name}: the program {program} is neither in its folder nor installed here")
        else:
            yield path
