from infra.reference import overview, page
from tests.services.described.library import library, module_of


def test_an_imported_api_has_a_page_like_a_written_service() -> None:
    found = module_of(library())
    text = page(found)
    assert "## delete_book (destroys)" in text
    assert "Lists (`...paging`) also take" in text
    assert "| [library](library.md) | 5 | Books, their loans and their readers. |" in overview([found])
