"""Loading: a wrong declaration is named with its place, and the others are there."""

import logging
from pathlib import Path
from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist.memory import forget_all
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.programs.module import MAX_DECLARATION_BYTES, load_file, load_folder
from tests.services.programs.declarations import FILE, TEXT, tool, written

EXAMPLES = Path(__file__).parents[3] / "examples/programs"


def module(*tools: Any, **more: Any) -> dict[str, Any]:
    """A declaration as a person writes it."""
    return {"name": "sample", "description": "Programs.", "version": "1", "tools": list(tools), **more}


RUN = tool(["run", {"input": "it"}], {"it": TEXT})
IT = ["run", {"input": "it"}]
UNSEPARATED = {"input": "it", "separate": False}
ESCAPING = {"glob": "../x", "content_type": "text/plain"}
NO_LENGTH = {"type": "string", "minLength": "x"}
WRONG: list[tuple[Any, str, str]] = [
    ("{", "line 1, column 2", "property name"),
    ("[]", "", "no object"),
    ("[" * 100_000, "line 1", "nested more than"),
    ('{"name": "a", "name": "b"}', "", '"name" stands twice'),
    (" " * (MAX_DECLARATION_BYTES + 1), "", "larger"),
    (module(), "tools", "at least 1 item"),
    (module(RUN, name="other"), "name", "the file is named sample.json"),
    (module(RUN, colour="red"), "colour", "no such field"),
    (module(RUN, RUN), "arguments", "two tools run"),
    (module({**RUN, "name": "x" * 60}), "arguments", "longer than 64"),
    (module({**RUN, "effect": "maybe"}), "tools.0.effect", "'reads'"),
    (module({**RUN, "timeout_seconds": 3_600}), "tools.0.timeout_seconds", "less than or equal to 25"),
    (module({**RUN, "argv": []}), "tools.0.argv", "at least 1 item"),
    (module({**RUN, "argv": ["/bin/sh"]}), "tools.0.argv", "the first word is the program"),
    (module({**RUN, "argv": ["../run", {"input": "it"}]}), "tools.0.argv", "the first word is the program"),
    (module({**RUN, "argv": [{"input": "it"}]}), "tools.0.argv", "the first word is the program"),
    (module({**RUN, "argv": ["run", {"input": "that"}]}), "tools.0", "that is no property"),
    (module({**RUN, "argv": ["run"]}), "tools.0", "the input it is used neither"),
    (module({**RUN, "argv": ["run"], "stdin": "that"}), "tools.0", "stdin: that is no property"),
    (module(tool(["run", {"input": "on"}], {"on": {"type": "boolean"}})), "tools.0", "needs the prefix"),
    (module(tool(["run", {"input": "it"}], {"it": {"type": "object"}})), "tools.0", "must be text"),
    (module(tool(["run", {"input": "it"}], {"it": {}})), "tools.0", "must be text"),
    (module(tool(["run", {"input": "it", "itemSeparator": ","}], {"it": TEXT})), "tools.0", "no list"),
    (module(tool(["run", UNSEPARATED], {"it": TEXT})), "tools.0.argv.1.binding", "a prefix"),
    (module(tool(["run"], {"it": 3})), "tools.0.inputSchema", "has no schema"),
    (module({**RUN, "inputSchema": {"type": "array"}}), "tools.0.inputSchema", "schema of an object"),
    (module({**RUN, "inputSchema": {"required": ["x"]}}), "tools.0.inputSchema", "required"),
    (module(tool(["run", {"input": "it"}], {"it": {"type": "text"}})), "tools.0", "must be text"),
    (module(tool(IT, {"it": NO_LENGTH})), "tools.0.inputSchema", "no JSON"),
    (module({**RUN, "outputs": [ESCAPING]}), "tools.0.outputs.0.glob", "no ."),
    (module({**RUN, "outputs": [{"glob": "x", "content_type": "text"}]}), "tools.0.outputs.0.content_type", "pattern"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "place", "problem"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_declaration_is_named_with_its_place(tmp_path: Path, values: Any, place: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        load_file(written(tmp_path, values))
    field = str(caught.value.details["field"])
    assert field.startswith(f"sample.json: {place}" if place else "sample.json")
    assert problem in str(caught.value.details["problem"])


@pytest.mark.parametrize("name", ["jira", "programs", "mcpist"])
def test_no_programs_have_the_name_of_another_module(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match="another module"):
        load_file(written(tmp_path, module(RUN, name=name), f"{name}.json"))


def test_the_rest_of_the_house_starts_beside_a_wrong_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    written(tmp_path, module(RUN))
    written(tmp_path, module(name="broken"), "broken.json")
    monkeypatch.setenv("PROGRAMS", str(tmp_path))
    forget_all()
    with caplog.at_level(logging.ERROR):
        assert {"jira", "files", "sample"} <= set(CATALOGUE.index.modules)
        assert "broken" not in CATALOGUE.index.modules
    assert CATALOGUE.module("sample").tools["run"].effect == "reads"
    assert [record.__dict__["place"] for record in caplog.records] == ["broken.json: tools"]
    monkeypatch.undo()
    forget_all()
    assert "sample" not in CATALOGUE.index.modules


def test_every_example_is_right() -> None:
    loaded = load_folder(EXAMPLES)
    assert loaded.problems == {}
    assert set(loaded.declarations) == {"jq", "pandoc", "ripgrep", "writers"}


def test_a_file_is_a_reference_in_the_schema_and_a_file_in_the_signature(tmp_path: Path) -> None:
    files = {"type": "array", "items": FILE}
    argv = ["run", {"input": "one"}, {"input": "many"}]
    loaded = load_file(written(tmp_path, module(tool(argv, {"one": FILE, "many": files}))))
    schema = loaded.tools[0].input_schema
    assert schema["properties"]["one"] == {"type": ["string", "object"], "format": "file-reference"}
    assert schema["properties"]["many"]["items"] == schema["properties"]["one"]
    assert schema["additionalProperties"] is False
