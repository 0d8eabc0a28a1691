"""The shipped examples, asked for this machine's files: they give none."""

import shutil
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from mcpist.errors import InvalidArguments, ProgramUnavailable
from mcpist.programs.messages import ProgramRequest, ProgramResult
from mcpist_services.programs.module import load_file, module
from mcpist_services.programs.runs import ProgramRuns
from program_runner.run import run
from tests.core.files.callers import UMA

EXAMPLES = Path(__file__).parents[2] / "examples/programs"
IMPORTS = ('import "secret" as $found {{search: "{0}"}}; $found', ' # c\n include "secret" {{search: "{0}"}}; .')


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@needs("jq")
@pytest.mark.parametrize("text", IMPORTS)
def test_jq_imports_nothing(
    text: str, allow: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its schema refuses it; past the schema all files are hidden; and where none can be, nothing runs."""
    for name in ("secret.json", "secret.jq"):
        (tmp_path / name).write_text('"canary"')
    jq, text = str(shutil.which("jq")), text.format(tmp_path)
    monkeypatch.setenv("LOCAL_SERVICES", "on")
    allow(jq)
    tools = load_file(EXAMPLES / "jq.json").tools
    for tool in module(load_file(EXAMPLES / "jq.json")).tools.values():
        with pytest.raises(InvalidArguments, match="filter"):
            tool.validate({"filter": text, "input" if "input" in tool.input_schema["properties"] else "file": "1"})
    ways = ({"namespaces": True}, {"namespaces": False}, {"namespaces": False, "landlock": False})
    for way in ways:
        runs = ProgramRuns(UMA, "jq", lambda request, _files, _way=way, **_: run(request, **_way))
        with pytest.raises(Exception, match="jq") as found:
            runs.run(tools[0], {"filter": text, "input": "1"}, deadline=0)
        assert "canary" not in str(found.value)


@needs("jq")
def test_a_packaged_language_that_reads_files_runs_only_where_they_are_hidden(
    allow: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jq").mkdir()
    shutil.copy(str(shutil.which("jq")), tmp_path / "jq/jq")
    for name, value in {"PROGRAMS": str(tmp_path), "LOCAL_SERVICES": "on"}.items():
        monkeypatch.setenv(name, value)
    allow()
    asked = {"filter": ".", "input": "1"}
    tool = load_file(EXAMPLES / "jq.json").tools[0]
    hidden = ProgramRuns(UMA, "jq", lambda request, _files, **_: run(request))
    assert hidden.run(tool, asked, deadline=0).json["metadata"] == {"result": 1}
    open_ = ProgramRuns(UMA, "jq", lambda request, _files, **_: run(request, namespaces=False, landlock=False))
    with pytest.raises(ProgramUnavailable, match="whose language reads files"):
        open_.run(tool, asked, deadline=0)


@needs("pandoc")
def test_pandoc_puts_no_file_into_a_document(
    allow: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.png").write_text("canary")
    secret = tmp_path / "secret.png"
    text = (
        f"---\ncover-image: {secret}\ncss: {secret}\n---\n# Title\n\n![a]({secret}) <img src='{secret}'>\n\n"
        f"<video src='{secret}'></video>\n\n```{{=html}}\n<img src='{secret}'>\n```\n"
    )
    monkeypatch.setenv("PROGRAMS", str(EXAMPLES))
    allow()
    for kind in ("docx", "odt", "epub"):
        result = convert(kind, text.encode())
        with zipfile.ZipFile(BytesIO(result.outputs[0].content or b"")) as document:
            assert not [name for name in document.namelist() if b"canary" in document.read(name)]


def convert(kind: str, text: bytes) -> ProgramResult:
    """Convert as on Lambda, where nothing hides files."""
    words = ("--metadata=title:T", "--to", kind)
    rule = {"glob": "document", "content_type": "application/octet-stream", "required": True}
    asked = {"program": "pandoc/to_document", "arguments": words, "stdin": text, "outputs": [rule]}
    message = ProgramRequest.model_validate({"organization": "acme", **asked})
    return run(message, namespaces=False, landlock=False)
