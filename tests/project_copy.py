"""A copy of this project with more services in it, for tests and measurements, and what a copy needs not make again."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from infra.source import ROOT
from mcpist_services import NAMES


def copy_code(source: Path, target: Path) -> Path:
    """Copy a folder with its compiled bytecode, and return the copy: each process would compile all of it anew."""
    being_written = shutil.ignore_patterns("*.pyc.*")
    return Path(shutil.copytree(source, target, ignore=being_written))


def lend_bytecode(environment: Path) -> None:
    """Copy the bytecode of our installed packages to the same packages of another virtual environment.

    Python uses what fits the time and size of its source. Compiling an environment anew takes a minute of CPU.
    """
    own = Path(sysconfig.get_path("purelib"))
    other = environment / own.relative_to(sys.prefix)
    for compiled in own.rglob("__pycache__/*.pyc"):
        target = other / compiled.relative_to(own)
        if target.parents[1].is_dir() and not target.exists():
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(compiled, target)


def with_modules(target: Path, *files: Path) -> Path:
    """Make a copy of this project in an empty folder, with each file as one more service, and return the folder.

    Its catalogue has an index, as in a built layer.
    """
    target.mkdir(exist_ok=True)
    for name in ("template.yaml", "functions"):
        (target / name).symlink_to(ROOT / name)
    (target / "layers").mkdir()
    for layer in ("core", "dependencies"):
        (target / "layers" / layer).symlink_to(ROOT / "layers" / layer)
    package = copy_code(ROOT / "layers/services", target / "layers/services") / "mcpist_services"
    for file in files:
        (package / file.stem).mkdir()
        (package / file.stem / "__init__.py").touch()
        shutil.copy(file, package / file.stem / "tools.py")
    with (package / "__init__.py").open("a", encoding="utf-8") as table:
        table.write(f"NAMES = {tuple(sorted({*NAMES, *(file.stem for file in files)}))!r}\n")
    write = "from mcpist_services.catalogue import CATALOGUE; CATALOGUE.write()"
    subprocess.run([sys.executable, "-c", write], env={**os.environ, "PYTHONPATH": str(package.parent)}, check=True)
    return target


if __name__ == "__main__":
    lend_bytecode(Path(sys.argv[1]))
