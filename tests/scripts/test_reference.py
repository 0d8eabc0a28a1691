import re
import sys
from pathlib import Path

import pytest

from mcpist.errors import concrete_errors
from scripts import reference
from scripts.reference import ERRORS, FOLDER, error_page, pages


def test_the_pages_of_the_tools_are_what_the_code_says() -> None:
    written = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert written == pages(), "run `make docs`"


def test_every_code_of_an_error_is_on_its_page_with_who_acts() -> None:
    page = ERRORS.read_text("utf-8")
    assert page == error_page(), "run `make docs`"
    assert {kind.code for kind in concrete_errors()} == set(
        re.findall(r"^\| `([A-Z_]+)` \| \d{3} \| \w", page, re.MULTILINE)
    )
    assert "| `CONFIRMATION_REQUIRED` | 428 | the caller |" in page
    assert "| `VALIDATION_ERROR` | 400 | the operator |" in page


def test_a_drifted_page_fails_the_check_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "FOLDER", tmp_path / "tools")
    monkeypatch.setattr(reference, "ERRORS", tmp_path / "errors.md")
    monkeypatch.setattr(reference, "UPSTREAMS_SCHEMA", tmp_path / "schema.json")
    monkeypatch.setattr(sys, "argv", ["reference"])
    reference.main()
    monkeypatch.setattr(sys, "argv", ["reference", "--check"])
    with pytest.raises(SystemExit) as passed:
        reference.main()
    assert not passed.value.code
    (tmp_path / "schema.json").write_text("{}")
    (tmp_path / "errors.md").unlink()
    (tmp_path / "tools/gone.md").touch()
    with pytest.raises(SystemExit) as raised:
        reference.main()
    assert str(raised.value.code).splitlines() == [
        "errors.md is not what the code says: run `make docs`",
        "schema.json is not what the code says: run `make docs`",
        "tools/gone.md is not what the code says: run `make docs`",
    ]
