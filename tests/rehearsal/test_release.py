"""Changed copies of a build."""

import py_compile
from pathlib import Path

import pytest

from rehearsal.release import BUILT, Release


@pytest.fixture
def built(tmp_path: Path) -> Release:
    """A build with one layer, whose one module has its bytecode."""
    module = tmp_path / "first" / BUILT / "CoreLayer/python/greeting.py"
    module.parent.mkdir(parents=True)
    module.write_text('TEXT = "hello"\n')
    py_compile.compile(str(module), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    (tmp_path / "first/samconfig.toml").touch()
    return Release(tmp_path / "first")


def test_a_change_is_made_in_the_copy_alone_and_not_hidden_by_bytecode(built: Release, tmp_path: Path) -> None:
    second = built.copy(tmp_path / "second")
    second.replace("CoreLayer/python/greeting.py", "hello", "good morning")
    texts = [(one.root / BUILT / "CoreLayer/python/greeting.py").read_text() for one in (built, second)]
    compiled = [list((one.root / BUILT).rglob("*.pyc")) for one in (built, second)]
    assert texts == ['TEXT = "hello"\n', 'TEXT = "good morning"\n']
    assert [len(files) for files in compiled] == [1, 0]


def test_a_change_that_finds_nothing_is_an_error(built: Release, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not contain 'bye'"):
        built.copy(tmp_path / "second").replace("CoreLayer/python/greeting.py", "bye", "hello")
