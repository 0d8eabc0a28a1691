"""A release: what `make build` made, or a changed copy of it, and the commands that deploy and delete it."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.source import ROOT
from rehearsal.engine import Engine

BUILT = Path(".aws-sam/build")
MAX_SECONDS = 600
_DEPLOY = """\
import pathlib, sys
from infra.deploy.__main__ import main
sys.exit(main(sys.argv[2:], pathlib.Path(sys.argv[1])))
"""


@dataclass(frozen=True)
class Outcome:
    """The result of a command."""

    code: int
    output: str
    """Its standard output and error."""

    @property
    def end(self) -> str:
        """The end of the output, for an error's message."""
        return self.output[-3000:]


@dataclass(frozen=True)
class Release:
    """A folder with a built template and its code."""

    root: Path = ROOT

    def copy(self, folder: Path) -> "Release":
        """Return a copy, to be changed."""
        (folder / BUILT.parent).mkdir(parents=True)
        shutil.copytree(self.root / BUILT, folder / BUILT, copy_function=os.link, symlinks=True)
        shutil.copy(self.root / "samconfig.toml", folder)
        (folder / ".tools").symlink_to(self.root / ".tools")  # where make may have installed uv
        return Release(folder)

    def replace(self, file: str, before: str, after: str) -> None:
        """Replace a text of a built file; its bytecode, which would be run in its place, is removed."""
        path = self.root / BUILT / file
        text = path.read_text("utf-8")
        if before not in text:
            raise ValueError(f"{file} does not contain {before!r}")
        path.unlink()  # it is a link to the file of the release that was copied
        path.write_text(text.replace(before, after), "utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()

    def deploy(self, engine: Engine, *arguments: str) -> Outcome:
        """Deploy it as `make deploy` does after the build."""
        return run(engine.environment, [sys.executable, "-c", _DEPLOY, str(self.root), *arguments])


def make_deploy(engine: Engine, *arguments: str) -> Outcome:
    """Build this project and deploy it, by the one command of an owner."""
    return run(engine.environment, ["make", "--no-print-directory", "deploy", f"ARGS={shlex.join(arguments)}"])


def run(environment: Mapping[str, str], command: list[str]) -> Outcome:
    """Run a command without an input: a question would be an error."""
    done = subprocess.run(  # noqa: S603 - the commands are this project's
        command,
        cwd=ROOT,
        env={**os.environ, **environment, "SAM_CLI_TELEMETRY": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )
    return Outcome(done.returncode, done.stdout)
