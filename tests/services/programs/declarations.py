"""Declarations for tests, and a stand-in for the room without rights that runs scripts of these tests."""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcpist.files import storage
from mcpist.files.records import FileRecord
from mcpist.programs.messages import Output, ProgramRequest, ProgramResult
from mcpist_services.programs.declaration import Declaration, ToolDeclaration

TEXT = {"type": "string"}
FILE = {"format": "file-reference"}


def tool(argv: list[Any], properties: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A tool's declaration, whose inputs are all optional."""
    return {
        "name": "run",
        "description": "Run it.",
        "inputSchema": {"properties": dict(properties or {})},
        "effect": "reads",
        "argv": argv,
        **more,
    }


def parsed(argv: list[Any], properties: Mapping[str, Any] | None = None, **more: Any) -> ToolDeclaration:
    """The same as a model."""
    return ToolDeclaration.model_validate(tool(argv, properties, **more))


def declaration(*tools: Mapping[str, Any], name: str = "sample") -> Declaration:
    """A module with these tools."""
    return Declaration.model_validate(
        {"name": name, "description": "Programs of tests.", "version": "1", "tools": list(tools)}
    )


class LocalPrograms:
    """Runs Python scripts in a folder of their own, as the client of the room without rights would; keeps requests."""

    def __init__(self, **scripts: str) -> None:
        self.scripts = scripts
        self.requests: list[ProgramRequest] = []

    def __call__(
        self, request: ProgramRequest, files: Mapping[str, FileRecord], *, deadline: float, reads: bool
    ) -> ProgramResult:
        """Run the script of the program's name."""
        assert deadline > 0
        assert isinstance(reads, bool)
        self.requests.append(request)
        script = self.scripts[Path(request.program).name]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for path, file in files.items():
                (folder / path).write_bytes(storage.load(file.key, file.sha256))
            given = (folder / request.stdin_file).read_bytes() if request.stdin_file else request.stdin
            done = subprocess.run(
                [sys.executable, "-I", "-c", script, *request.arguments],
                cwd=folder,
                input=given,
                capture_output=True,
                check=False,
            )
            made = [
                _output(path, rule.content_type, folder)
                for rule in request.outputs
                for path in sorted(folder.glob(rule.glob))
            ]
        return ProgramResult(
            exit_code=done.returncode if done.returncode >= 0 else None,
            signal="SIGSEGV" if done.returncode < 0 else "",
            stdout=done.stdout,
            stderr_tail=done.stderr.decode()[-8_000:],
            outputs=tuple(made),
            milliseconds=1,
            isolation=(),
        )


def _output(path: Path, content_type: str, folder: Path) -> Output:
    content = path.read_bytes()
    return Output(
        name=str(path.relative_to(folder)),
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        content_type=content_type,
        content=content,
    )


PRINT_ARGUMENTS = "import json, sys; print(json.dumps(sys.argv[1:]))"


def written(folder: Path, values: Any, name: str = "sample.json") -> Path:
    """The file of a declaration."""
    file = folder / name
    file.write_text(values if isinstance(values, str) else json.dumps(values), "utf-8")
    return file
