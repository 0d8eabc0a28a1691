from pathlib import Path

import pytest

from mcpist.tools.search.catalogue import Catalogue
from mcpist.tools.search.index import Index
from mcpist.tools.search.words import SearchWords, search_words
from tests.core.sample import CATALOGUE

ENGLISH = '[synonyms]\n"moolah" = "price"\n[phrases]\nget_key = ["secret for the cashier"]\n'
JAPANESE = '[phrases]\nget_key = ["レジの鍵"]\n'


def first(index: Index, task: str) -> str:
    found = index.words.rank(task, range(len(index.tools)), 1)
    return index.tools[found[0][0]].name if found else ""


@pytest.mark.parametrize("task", ["a secret for cashiers", "レジの鍵"])
def test_a_tool_is_found_by_how_people_ask_for_it(tmp_path: Path, task: str) -> None:
    (tmp_path / "en.toml").write_text(ENGLISH, "utf-8")
    (tmp_path / "ja.toml").write_text(JAPANESE, "utf-8")
    modules = [CATALOGUE.module(name) for name in CATALOGUE.names]
    assert first(Index.of(modules), task) != "get_key"
    assert first(Index.of(modules, {"shop": search_words(tmp_path)}), task) == "get_key"


def test_the_index_of_a_catalogue_has_the_phrases_beside_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file, text in {
        "__init__.py": "",
        "shop/__init__.py": "",
        "shop/tools.py": "from tests.core.sample.shop.tools import shop as shop",
        "shop/en.toml": ENGLISH,
        "shop/ja.toml": JAPANESE,
    }.items():
        path = tmp_path / "asked" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    index = Catalogue("asked", ("shop",)).read()
    assert first(index, "a secret for cashiers") == "get_key"
    assert index.words.synonyms == "moolah: price\n"
    assert "cashier" not in "".join(tool.line() for tool in index.tools)


def test_a_module_without_a_file_has_no_phrases(tmp_path: Path) -> None:
    assert search_words(tmp_path) == SearchWords()
