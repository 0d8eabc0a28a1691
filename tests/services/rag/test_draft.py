import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.errors import InvalidRequest, PayloadTooLarge
from mcpist_services.rag.documents import (
    MAX_DOCUMENT_BYTES,
    MAX_PATH_BYTES,
    body,
    checked_path,
    compose_text,
    fields,
    front_matter,
    read,
)
from tests.faults import for_each

LINES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60).filter(str.strip)
TAGS = st.lists(LINES, max_size=5)
DAYS = st.dates().map(str)
CONTENTS = st.one_of(
    st.text(max_size=200),
    st.builds(
        "---\n{}{}{}---\n{}".format,
        st.sampled_from(["", "title: Old\n", "title: >\n  Old\n  words\n"]),
        st.sampled_from(["", "tags: [a, b]\n", "tags:\n- a\n- b\n", "# a comment\n"]),
        st.sampled_from(["", "status: draft # not yet\nowner: {name: Uma}\n", "date: 2020-01-01\n"]),
        st.text(max_size=50),
    ),
)


# -- paths --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["a.md", "guides/How to deploy.md", "設計/認証.md", "a.MD", "a.b/c.markdown", "100%?#.md"]
)
def test_a_path_of_a_document_may_be_written(path: str) -> None:
    assert checked_path(path, new=True) == checked_path(path, new=False) == path


@for_each(
    "path",
    [
        "/a.md",
        "../a.md",
        "a/../b.md",
        "./a.md",
        "a//b.md",
        "a/",
        "",
        " a.md",
        "a.md ",
        "a /b.md",
        "a\\b.md",
        "a\nb.md",
        "a\0.md",
        "a\u202e.md",
        "a\ufffe.md",
        "a.txt",
        "md",
        ".md",
        "a/.md",
        "a.md/b",
        "a" * MAX_PATH_BYTES + ".md",
        "設" * 300 + ".md",
    ],
)
def test_a_path_that_leads_elsewhere_or_is_not_of_a_document_is_refused(path: str) -> None:
    for new in (True, False):
        with pytest.raises(InvalidRequest) as refused:
            checked_path(path, new=new)
        assert refused.value.details["field"] == "path"


def test_the_characters_of_a_new_path_are_composed_and_an_old_path_is_kept() -> None:
    apart = unicodedata.normalize("NFD", "ガイド.md")
    assert checked_path(apart, new=True) == "ガイド.md"
    assert checked_path(apart, new=False) == apart


# -- front matter -------------------------------------------------------------------------------------


def test_a_text_without_front_matter_gets_one() -> None:
    assert compose_text("# Deploy\n", "How we deploy", ["ops", "運用"], "2026-01-31") == (
        "---\ntitle: How we deploy\ntags:\n- ops\n- 運用\ndate: 2026-01-31\n---\n\n# Deploy\n"
    )


def test_a_text_without_changed_fields_is_kept_exactly() -> None:
    for text in ("# Deploy", "---\ntitle: [broken\n---\ntext", "---\ntitle:   x\n...\ntext", "---\nno end"):
        assert compose_text(text, None, None, None) == text


def test_fields_are_replaced_and_the_others_are_kept_exactly() -> None:
    text = "# ours\nstatus: draft  # not yet\ntitle: >\n  Old\n  title\nno: no\ntags:\n- a\nowner: {name: Uma}\n"
    assert compose_text(f"---\n{text}---\nText", "New", ["b"], None) == (
        "---\ntitle: New\ntags:\n- b\n# ours\nstatus: draft  # not yet\nno: no\nowner: {name: Uma}\n---\nText"
    )


def test_comments_and_empty_lines_after_a_field_stay() -> None:
    once = compose_text("---\n# first\n\ntitle: a\n# title\n\ndate: 2020-01-01\n# last\n---\n", "b", None, "2026-01-31")
    assert once == "---\ntitle: b\ndate: 2026-01-31\n# first\n\n# title\n\n# last\n---\n"
    assert compose_text(once, "b", None, "2026-01-31") == once


def test_a_duplicate_field_is_replaced_twice() -> None:
    assert compose_text("---\ntitle: a\nx: y\ntitle: b\n---\n", "c", None, None) == "---\ntitle: c\nx: y\n---\n"


def test_an_empty_list_removes_the_tags() -> None:
    assert compose_text("---\ntags: [a]\nx: y\n---\nText", None, [], None) == "---\nx: y\n---\nText"
    assert compose_text("Text", None, [], None) == "Text"


def test_titles_and_tags_are_single_lines_and_tags_are_unique() -> None:
    document = read("a.md", compose_text("Text", "a\n b", ["x", " x ", " ", "y  z"], None).encode())
    assert (document.title, document.tags) == ("a b", ("x", "y z"))


@for_each("title", ["no", "2026-01-31", "a: b", "#x", "- y", "'", '"', "[", "{}", "*x", "!t", "😀", "x" * 200])
def test_words_that_mean_something_in_yaml_stay_words(title: str) -> None:
    document = read("a.md", compose_text("Text", title, [title[:100]], None).encode())
    assert (document.title, document.tags) == (title, (title[:100],))


@pytest.mark.parametrize(
    "front",
    [
        "title: [unclosed",
        "a: b: c",
        "just words",
        "- a\n- b",
        "  indented: yes\n  all: of it",
        "{flow: style}",
        "title: &anchor x\nother: *anchor",
        "? [a]\n: b",
        "a: " + "[" * 900,
        "long: " + "x" * 4_970,
    ],
)
def test_front_matter_that_cannot_be_merged_is_refused_and_not_destroyed(front: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        compose_text(f"---\n{front}\n---\nText", "A title that is said", None, None)
    assert refused.value.details["field"] == "content"


def test_a_day_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        compose_text("Text", None, None, "2026-02-30")
    assert refused.value.details["field"] == "date"


def test_a_document_over_the_limit_is_refused_with_both_sizes() -> None:
    assert compose_text("x" * MAX_DOCUMENT_BYTES, None, None, None)
    with pytest.raises(PayloadTooLarge) as refused:
        compose_text("設" * MAX_DOCUMENT_BYTES, None, None, None)
    assert refused.value.details == {"size_bytes": 3 * MAX_DOCUMENT_BYTES, "limit_bytes": MAX_DOCUMENT_BYTES}


def test_line_endings_are_normalized_and_byte_order_marks_removed() -> None:
    assert compose_text("\ufeff---\r\nx: y\r\n---\r\nText\r\n", "T", None, None) == "---\ntitle: T\nx: y\n---\nText\n"


@given(CONTENTS, st.none() | LINES, st.none() | TAGS, st.none() | DAYS)
def test_changed_fields_are_read_back_and_nothing_else_changes(
    content: str, title: str | None, tags: list[str] | None, day: str | None
) -> None:
    before = read("a.md", content.encode())
    try:
        text = compose_text(content, title, tags, day)
    except InvalidRequest:
        return  # what cannot be merged; the rest of this says what merging is
    after = read("a.md", text.encode())
    assert after.text == text
    assert after.title == (" ".join(title.split())[:200] if title else before.title)
    assert after.date == (day or before.date)
    expected = before.tags if tags is None else tuple(dict.fromkeys(filter(None, (" ".join(t.split()) for t in tags))))
    assert after.tags == expected
    assert body(text) in {body(before.text), "\n" + body(before.text)}
    others = {name: value for name, value in fields(before.text).items() if name not in {"title", "tags", "date"}}
    assert others.items() <= fields(text).items()
    assert compose_text(text, title, tags, day) == text


@given(st.text(max_size=200))
def test_a_text_alone_is_never_given_front_matter(content: str) -> None:
    assert front_matter(compose_text(content, None, None, None)) == front_matter(read("a.md", content.encode()).text)
