import gc
import sqlite3
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist_services.rag.documents import read
from mcpist_services.rag.index import SNIPPET_CHARACTERS, DocumentIndex, snippet


def index_of(**texts: str) -> DocumentIndex:
    index = DocumentIndex()
    for name, text in texts.items():
        index.put(read(f"{name}.md", text.encode()), etag=name)
    return index


def paths(index: DocumentIndex, query: str) -> list[str]:
    return [path.removesuffix(".md") for path, _ in index.search(query)]


@pytest.fixture(scope="module")
def library() -> DocumentIndex:
    return index_of(
        rotate="# Rotating secrets\n\nEvery 90 days we rotate the database password.",
        database="# Database\n\nThe schema and its migrations. A password is needed.",
        design="# 認証基盤の設計\n\nトークンはKMSで暗号化する。合鍵はない。",
        review="# レビューの手順\n\n設計書を読んでからコードを見る。",
        accounts="# 会計書類\n\n帳簿と消費税。",
        mixed="# API設計ガイド\n\n\uff32\uff25\uff33\uff34 APIの命名。ﾊﾝｶｸのカナ。",
    )


def test_the_documents_with_every_word_come_first(library: DocumentIndex) -> None:
    assert paths(library, "rotate database password") == ["rotate", "database"]


def test_words_are_found_in_other_forms_and_cases(library: DocumentIndex) -> None:
    assert paths(library, "ROTATION") == ["rotate"]


def test_two_japanese_characters_alone_are_found(library: DocumentIndex) -> None:
    assert set(paths(library, "設計")) == {"design", "review", "mixed"}


def test_one_japanese_character_is_found_in_any_position(library: DocumentIndex) -> None:
    assert paths(library, "鍵") == ["design"]
    assert paths(library, "税") == ["accounts"]


def test_matches_of_a_complete_japanese_word_come_before_those_of_its_parts(library: DocumentIndex) -> None:
    assert paths(library, "設計書")[0] == "review"
    assert "accounts" in paths(library, "設計書")[1:]


def test_a_japanese_question_finds_its_subject(library: DocumentIndex) -> None:
    assert paths(library, "認証基盤について教えて")[0] == "design"


def test_japanese_and_latin_words_are_found_together(library: DocumentIndex) -> None:
    assert paths(library, "KMS 暗号化")[0] == "design"
    assert paths(library, "KMSで暗号化")[0] == "design"


def test_full_width_and_half_width_letters_are_the_same(library: DocumentIndex) -> None:
    assert paths(library, "rest") == ["mixed"]
    assert paths(library, "ハンカク") == ["mixed"]


def test_a_word_in_the_title_counts_more(library: DocumentIndex) -> None:
    assert paths(library, "database")[0] == "database"


def test_tags_and_paths_are_searched_too() -> None:
    index = index_of(a="---\ntags: [運用, oncall]\n---\ntext", runbook="text")
    assert paths(index, "運用") == ["a"]
    assert paths(index, "oncall") == ["a"]
    assert paths(index, "runbook") == ["runbook"]


@pytest.mark.parametrize("query", ["", "   ", '"', "***", "!?", "\0", "\ud800", "🙂"])
def test_a_query_without_words_finds_nothing(library: DocumentIndex, query: str) -> None:
    assert paths(library, query) == []


@pytest.mark.parametrize(
    "query",
    [
        'rotate"',
        'rotate" OR "x',
        "rotate*",
        "rotate NOT password",
        "NEAR(rotate password, 1)",
        "title : rotate",
        "{title text} : rotate",
        "^rotate",
        "-rotate",
        "rotate + secrets",
        "(rotate",
        "rotate'; DROP TABLE documents; --",
    ],
)
def test_operators_are_plain_text(library: DocumentIndex, query: str) -> None:
    assert paths(library, query)[0] == "rotate"


def test_an_operators_name_is_a_word() -> None:
    index = index_of(a="this or that", b="this")
    assert paths(index, "OR") == ["a"]


def test_only_the_beginning_of_a_very_long_query_counts(library: DocumentIndex) -> None:
    assert paths(library, "rotate " + " ".join(f"w{n}" for n in range(400))) == ["rotate"]
    assert paths(library, "認証基盤" * 250)[0] == "design"


@given(st.text(max_size=60))
def test_no_query_raises(library: DocumentIndex, query: str) -> None:
    list(library.search(query))


@given(st.text(alphabet='"*():^-+{}ANDORNEAT 設計a\0', max_size=40))
def test_no_query_of_operators_raises(library: DocumentIndex, query: str) -> None:
    list(library.search(query))


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_a_document_is_found_by_all_of_its_own_text(text: str) -> None:
    index = index_of(own=f"# T\n{text}")
    assert paths(index, f"T {text}") == ["own"]


def test_a_snippet_is_the_part_with_the_most_words() -> None:
    text = "alpha " + "x " * 300 + "alpha beta gamma " + "y " * 300
    found = snippet(text, ["alpha", "beta", "gamma"])
    assert "alpha beta gamma" in found
    assert found[0] == found[-1] == "…"
    assert len(found) <= SNIPPET_CHARACTERS + 2


def test_a_snippet_leaves_out_the_front_matter() -> None:
    index = index_of(a="---\ntitle: Deploy\n---\n\nHow  to\ndeploy.")
    assert list(index.search("deploy")) == [("a.md", "How to deploy.")]


def test_a_snippet_skips_code_and_diagrams_where_prose_has_the_words() -> None:
    diagram = "```mermaid\nflowchart LR\n  broker --> token broker\n```\n"
    text = f"# Design\n\n{diagram}\nThe broker opens tokens.\n\n~~~sh\nmcpist broker token\n~~~\n"
    assert snippet(text, ["token", "broker"]) == "# Design The broker opens tokens."
    assert "mcpist broker" in snippet(text, ["mcpist"])


def test_the_snippet_for_a_word_only_in_the_title_is_the_beginning() -> None:
    assert snippet("Begin here. " * 100, ["absent"]).startswith("Begin here.")


def test_an_index_survives_as_bytes(library: DocumentIndex) -> None:
    again = DocumentIndex.load(library.dump())
    assert again is not None
    assert again.entries == library.entries
    assert again.etags() == library.etags()
    assert paths(again, "設計書") == paths(library, "設計書")
    assert again.text("review.md") == library.text("review.md")


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 500, b"x" * 5000])
def test_bytes_that_are_not_an_index_load_as_none(content: bytes) -> None:
    assert DocumentIndex.load(content) is None


def test_an_index_of_another_format_loads_as_none() -> None:
    other = sqlite3.connect(":memory:")
    other.execute("PRAGMA user_version = 99")
    other.execute("CREATE TABLE t (a)")
    assert DocumentIndex.load(other.serialize()) is None
    other.close()


def test_a_replaced_document_is_found_by_its_new_words_only() -> None:
    index = index_of(a="古い文書 ancient", b="other")
    index.put(read("a.md", "新しい文書 recent".encode()), etag="2")
    assert paths(index, "ancient") == []
    assert paths(index, "古い") == []
    assert paths(index, "recent") == ["a"]
    assert index.etags() == {"a.md": "2", "b.md": "b"}


def test_a_removed_document_is_not_found() -> None:
    index = index_of(a="設計 one", b="設計 two")
    index.remove("a.md")
    index.remove("never-there.md")
    assert paths(index, "設計 one") == ["b"]
    assert list(index.entries) == ["b.md"]


def test_changing_a_copy_does_not_change_the_original() -> None:
    index = index_of(a="one")
    copy = index.copy()
    copy.put(read("b.md", b"two"), etag="b")
    assert list(index.entries) == ["a.md"]
    assert list(copy.entries) == ["a.md", "b.md"]


def test_a_dropped_index_closes_its_database() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index = index_of(a="one")
        connection = index._connection
        del index
        gc.collect()
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")


def test_a_word_that_is_repeated_counts_once() -> None:
    statements: list[str] = []
    index = index_of(one="# One\n\nsecret")
    index._connection.set_trace_callback(statements.append)
    assert paths(index, "secret " * 248) == ["one"]
    assert max(statement.count("secret") for statement in statements) < 5
