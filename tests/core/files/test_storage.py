import hashlib
import json

import pytest

from mcpist.errors import FileNotFound
from mcpist.files import storage

pytestmark = pytest.mark.usefixtures("aws")


def test_a_file_is_named_after_its_content() -> None:
    file = storage.put("acme", b"{}")
    digest = hashlib.sha256(b"{}").hexdigest()
    assert (file.path, file.sha256, file.size_bytes) == (f"files/acme/{digest}", digest, 2)
    assert storage.put("acme", b"{}").path == file.path
    assert storage.get("acme", file.path) == b"{}"


@pytest.mark.parametrize(
    "path", ["files/globex/{}", "files/acme/../globex/{}", "files/globex/../acme/{}", "{}", "files/acme/x/{}", ""]
)
def test_another_organizations_file_does_not_exist(path: str) -> None:
    file = storage.put("globex", b"secret")
    with pytest.raises(FileNotFound):
        storage.get("acme", path.format(file.sha256))


def test_a_file_that_was_never_stored_does_not_exist() -> None:
    with pytest.raises(FileNotFound):
        storage.get("acme", f"files/acme/{'0' * 64}")


def test_a_short_text_stays_in_the_answer(aws: list[str]) -> None:
    assert storage.truncate("acme", "short", 5) == "short"
    assert aws == []


@pytest.mark.parametrize("max_characters", [100, 1_000, 5_000])
def test_a_long_text_is_cut_and_stored_whole_in_a_file(max_characters: int) -> None:
    text = "ü" * 10_000
    cut = storage.truncate("acme", text, max_characters)
    beginning, _, note = cut.partition("\n[cut: 10000 characters; all of it: ")
    assert text.startswith(beginning)
    assert len(cut) <= max(max_characters, len(cut) - len(beginning))
    assert storage.get("acme", json.loads(note.removesuffix("]"))["path"]).decode() == text
