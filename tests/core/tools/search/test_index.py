from pathlib import Path

import pytest

from mcpist.tools.search import catalogue as catalogue_module
from mcpist.tools.search.catalogue import Catalogue
from mcpist.tools.search.index import Index
from tests.core.sample import CATALOGUE


def test_an_index_is_read_as_it_was_written() -> None:
    index = CATALOGUE.read()
    again = Index.load(index.dump())
    assert again.modules == index.modules
    assert again.words.words == index.words.words
    assert again.dump() == index.dump()


def test_an_entry_says_what_the_sieve_and_the_model_ask() -> None:
    shop = CATALOGUE.read().modules["shop"]
    assert (shop.service, shop.api_version) == ("shop", "1")
    assert shop.tools["get_key"].needs_allow
    assert not shop.tools["get_item"].needs_allow
    assert shop.tools["delete_item"].line() == "delete_item(item_id) -> id: !! Remove an item."
    assert [tool.name for tool in CATALOGUE.read().tools][:2] == ["list_items", "get_item"]


def test_where_the_build_wrote_an_index_no_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "indexed"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "broken.py").write_text("raise RuntimeError('imported')")
    (package / catalogue_module.INDEX_FILE).write_text(CATALOGUE.read().dump(), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    catalogue = Catalogue("indexed", ("broken",))
    assert list(catalogue.index.modules) == ["shop", "safe"]
    with pytest.raises(RuntimeError, match="imported"):
        catalogue.module("broken")
