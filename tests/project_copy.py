"""A copy of this project with more services in it, for tests and measurements."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from infra.source import ROOT
from mcpist_services import NAMES


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
    package = shutil.copytree(ROOT / "layers/services", target / "layers/services") / "mcpist_services"
    for file in files:
        (package / file.stem).mkdir()
        (package / file.stem / "__init__.py").touch()
        shutil.copy(file, package / file.stem / "tools.py")
    with (package / "__init__.py").open("a", encoding="utf-8") as table:
        table.write(f"NAMES = {tuple(sorted({*NAMES, *(file.stem for file in files)}))!r}\n")
    write = "from mcpist_services.catalogue import CATALOGUE; CATALOGUE.write()"
    subprocess.run([sys.executable, "-c", write], env={**os.environ, "PYTHONPATH": str(package.parent)}, check=True)
    return target
