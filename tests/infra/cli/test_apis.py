"""`mcpist api`: the import of a description, a second import, and what the build writes."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.cli import apis
from infra.cli.document import exit_code
from infra.cli.main import run
from mcpist.settings import settings
from mcpist_services.described.compiled import ImportedApis
from mcpist_services.described.overlay_files import load_file
from tests.core.loopback import Reply, Service, serving
from tests.services.described.library import answers, content, library


def command(capsys: pytest.CaptureFixture[str], *arguments: str | Path, fails: bool = False) -> dict[str, Any]:
    """The metadata of a command that succeeds, or the error of one that fails."""
    code = run(["api", *map(str, arguments)])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == (exit_code(document["error"]["code"]) if fails else 0), document
    found: dict[str, Any] = document["error" if fails else "metadata"]
    return found


REVIEW = {
    "add_book": ["`delete_book` is proposed as its undo"],
    "create_loan": ["whether it only reads, writes or destroys is not clear"],
}


@pytest.fixture
def file(nowhere: Path) -> Path:
    """The library's description."""
    path = nowhere / "library.openapi.json"
    path.write_bytes(content(library()))
    return path


def test_an_import_writes_an_overlay_and_says_what_it_left_out(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = library()
    described["paths"]["/page"] = {"get": {"responses": {"200": {"content": {"text/html": {}}}}}}
    file.write_bytes(content(described))
    found = command(capsys, "import", file, "--folder", "apis")
    assert (found["tools"], found["changes"][0]) == (6, "+ list_books: GET /books (reads)")
    assert found["review"] == REVIEW
    assert list(found["left_out"]) == ["GET /page"]
    overlay = load_file(Path("apis/library.yaml"))
    assert (overlay.name, overlay.source) == ("library", "library.openapi.json")
    assert overlay.description_hash.startswith("sha256:")


def test_several_files_are_imported_as_one_module_by_name(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = library(paths={"/readers": {"get": {"responses": answers({"type": "array", "items": {}})}}})
    Path("readers.json").write_bytes(content(other))
    found = command(capsys, "import", file, "readers.json", "--name", "library", "--folder", "apis")
    assert (found["tools"], load_file(Path("apis/library.yaml")).source) == (7, "library.openapi.json, readers.json")


def test_a_second_import_shows_what_the_vendor_changed_and_keeps_corrections(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(capsys, "import", file, "--folder", "apis")
    overlay = Path("apis/library.yaml")
    overlay.write_text(overlay.read_text().replace("description: Add a book.", "description: Buy a book."))
    described = library()
    del described["paths"]["/books/{book-id}"]["delete"]
    described["paths"]["/readers"] = {"get": {"summary": "List readers", "responses": {}}}
    described["components"]["schemas"]["Book"]["required"].append("isbn")
    file.write_bytes(content(described))
    expected = [
        "+ get_readers: GET /readers (reads)",
        "- delete_book: DELETE /books/{book-id}",
        "~ add_book: parameter isbn is required now",
        "~ schema Book",
    ]
    before = overlay.read_text()
    assert command(capsys, "import", file, "--folder", "apis", "--dry-run")["changes"] == expected
    assert overlay.read_text() == before
    assert command(capsys, "import", file, "--folder", "apis")["changes"] == expected
    assert load_file(overlay).tools["add_book"].description == "Buy a book."
    assert command(capsys, "import", file, "--folder", "apis")["changes"] == []


def test_a_refused_import_leaves_the_overlay_as_it_was(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(capsys, "import", file, "--folder", "apis")
    before = Path("apis/library.yaml").read_text()
    file.write_bytes(content(library(servers=[{"url": "http://10.0.0.1"}], paths=1)))
    error = command(capsys, "import", file, "--folder", "apis", fails=True)
    assert (error["code"], error["details"]["field"]) == ("VALIDATION_ERROR", "#/paths")
    assert Path("apis/library.yaml").read_text() == before
    assert [path.name for path in Path("apis").iterdir()] == ["library.yaml"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--name", "github"], "name"),
        (["--name", "Not A Name"], "name"),
        (["--operations", "none"], "operations"),
        (["--server", "http://192.168.0.1"], "server"),
    ],
)
def test_a_wrong_option_is_refused(
    file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], field: str
) -> None:
    error = command(capsys, "import", file, "--folder", "apis", *arguments, fails=True)
    assert (error["code"], error["details"]["field"]) == ("VALIDATION_ERROR", field)
    assert not Path("apis").exists()


@pytest.fixture
def site(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:  # noqa: ARG001 - no folder of ours
    """A site on loopback that may be asked, as from a local deployment."""
    with serving() as service:
        monkeypatch.setenv("PUBLIC_URL", service.url)
        settings.cache_clear()
        yield service
    settings.cache_clear()


def test_a_description_is_fetched_over_redirects(site: Service, capsys: pytest.CaptureFixture[str]) -> None:
    site.reply_with(Reply(status=302, headers={"location": "/library.json?token=s3cret"}), Reply(content(library())))
    command(capsys, "import", f"{site.url}/a/library.yaml?key=s3cret", "--folder", "apis")
    assert load_file(Path("apis/library.yaml")).source == f"{site.url}/a/library.yaml"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(status=404), "UPSTREAM_UNAVAILABLE"),
        (Reply(status=302, headers={"location": "https://10.0.0.1/"}), "UPSTREAM_UNAVAILABLE"),
        (Reply(gzip.compress(b" " * 30_000_000), headers={"content-encoding": "gzip"}), "VALIDATION_ERROR"),
        (Reply(b"<html>"), "VALIDATION_ERROR"),
    ],
)
def test_what_cannot_be_fetched_is_a_typed_error(
    site: Service, capsys: pytest.CaptureFixture[str], reply: Reply, code: str
) -> None:
    site.reply_with(reply)
    assert command(capsys, "import", f"{site.url}/api.json", "--folder", "apis", fails=True)["code"] == code
    assert not Path("apis").exists()


def test_an_address_of_this_network_is_not_fetched(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nowhere
    error = command(capsys, "import", "http://169.254.169.254/latest/api", "--folder", "apis", fails=True)
    assert error["details"]["field"] == "source"


def test_the_build_writes_what_the_functions_read(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(capsys, "import", file, "--folder", "apis")
    found = command(capsys, "check", "--folder", "apis", "--build")
    assert found["review"] == {"library": REVIEW}
    assert ImportedApis(Path("apis") / apis.COMPILED).names == ("library",)
    (row,) = command(capsys, "list", "--folder", "apis")["apis"]
    assert (row["tools"], row["credential"], row["host"]) == (6, "header", "https://api.library.example/v1")


def test_the_build_refuses_an_api_on_this_machine(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(capsys, "import", file, "--folder", "apis", "--server", "http://127.0.0.1:9000")
    error = command(capsys, "check", "--folder", "apis", "--build", fails=True)
    assert error["details"]["field"] == "library.host"
