from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist_services.rag.documents import MarkdownDocument, body, read
from tests.faults import for_each

FULL = """---
title: デプロイ手順
tags: [ops, 運用]
date: 2026-01-05
status: draft
---
# Another heading

Text.
"""


def test_front_matter_gives_title_tags_and_date() -> None:
    document = read("guides/deploy.md", FULL.encode())
    assert document == MarkdownDocument(
        path="guides/deploy.md",
        title="デプロイ手順",
        tags=("ops", "運用"),
        date="2026-01-05",
        text=FULL,
        size_bytes=len(FULL.encode()),
    )


def test_the_text_has_the_front_matter_and_the_body_has_not() -> None:
    assert "status: draft" in read("a.md", FULL.encode()).text
    assert body(FULL) == "# Another heading\n\nText.\n"


@for_each(
    ("text", "title"),
    [
        ("# First\n\n# Second\n", "First"),
        ("intro\n\n### Deep ###\n", "Deep"),
        ("# C#\n", "C#"),
        ("# " + " " * 50_000 + "far\n", "far"),
        ("- a list\n---\n\n# Heading\n", "Heading"),
        ("Underlined\n==========\n\ntext", "Underlined"),
        ("```sh\n# a comment\n```\n\n## Real\n", "Real"),
        ("~~~\n# not closed\n", "the-file"),
        ("#hashtag is no heading\n", "the-file"),
        ("", "the-file"),
        ("---\ntags: [a]\n---\n# Heading\n", "Heading"),
        ("---\ntitle:\n---\n# Heading\n", "Heading"),
        ("---\ntitle: [a, list]\n---\n# Heading\n", "Heading"),
        ("---\ntitle: 2026\n---\n", "2026"),
        ("---\r\ntitle: Windows\r\n---\r\ntext\r\n", "Windows"),
        ("\ufeff---\ntitle: Marked\n---\n", "Marked"),
        ("---\ntitle: >\n  Two\n  lines\n...\n", "Two lines"),
    ],
)
def test_the_title_comes_from_the_front_matter_the_first_heading_or_the_file_name(text: str, title: str) -> None:
    assert read("folder/the-file.md", text.encode()).title == title


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("[a, b, a]", ("a", "b")),
        ("a, b c", ("a", "b c")),
        ("[no, 1.10, ' x ']", ("no", "1.10", "x")),
        ("[a, [b], {c: d}, '']", ("a",)),
        ("{a: b}", ()),
        ("", ()),
    ],
)
def test_tags_are_a_list_or_a_line(tags: str, expected: tuple[str, ...]) -> None:
    assert read("a.md", f"---\ntags: {tags}\n---\n".encode()).tags == expected


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T09:00:00+09:00", "2026-01-31"),
        ("2026/1/5", "2026-01-05"),
        ("2026-13-45", None),
        ("yesterday", None),
        ("[2026-01-31]", None),
        ("", None),
    ],
)
def test_a_date_is_a_day_or_nothing(day: str, expected: str | None) -> None:
    assert read("a.md", f"---\ndate: {day}\n---\n".encode()).date == expected


@pytest.mark.parametrize(
    "front",
    [
        "title: [unclosed",
        "title: 'unclosed",
        "a: b: c",
        "? [a]\n: b",
        "just words",
        "a: " + "[" * 4_900,
        "*unknown",
        "- a\n- b",
    ],
)
def test_broken_front_matter_does_not_lose_the_document(front: str) -> None:
    document = read("a.md", f"---\n{front}\n---\n# Heading\n\nText.\n".encode())
    assert document.title == "Heading"
    assert document.text.endswith("Text.\n")


def test_front_matter_that_never_ends_is_text() -> None:
    document = read("a.md", b"---\ntitle: x\n\n# Heading\n")
    assert document.title == "Heading"


def test_invalid_bytes_become_replacement_characters() -> None:
    assert read("a.md", b"# caf\xe9\n").title == "caf\ufffd"


@given(st.binary(max_size=300), st.sampled_from([b"", b"---\n", b"---\ntitle: x\ntags: "]))
def test_any_bytes_can_be_read_as_a_document(content: bytes, start: bytes) -> None:
    document = read("folder/name.md", start + content)
    assert document.title
    assert document.size_bytes == len(start + content)
    assert document.date is None or date.fromisoformat(document.date)
    document.text.encode()


def test_front_matter_with_aliases_is_broken_since_few_of_them_make_a_value_enormous() -> None:
    levels = "\n".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 40))
    document = read("bomb.md", f"---\ntags: [x]\na0: &a0 [y]\n{levels}\n---\n# Bomb\n".encode())
    assert (document.title, document.tags) == ("Bomb", ())
