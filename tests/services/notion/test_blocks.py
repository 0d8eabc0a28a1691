"""Markdown to Notion's blocks and back."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings

from mcpist.errors import InvalidRequest
from mcpist.markdown.normal_form import normalize
from mcpist.markdown.reader import read
from mcpist.markdown.tree import (
    Block,
    Blocks,
    Image,
    Item,
    List,
    Paragraph,
    Quote,
    Run,
    TableBlock,
    TextRun,
    Unsupported,
)
from mcpist.markdown.writer import write
from mcpist.toml_table import toml_beside
from mcpist_services.notion import blocks
from mcpist_services.notion.block_reading import tree_of
from mcpist_services.notion.blocks import block_changes, blocks_of, language_of, single_block
from tests.core.markdown.trees import markdown, trees
from tests.services.answers.notion import PAGE_ID, SMALL_PAGE, USER_ID, block, text
from tests.services.notion.echo import echoed, held


def carried(tree: Blocks) -> Blocks:
    """A tree that has been in Notion."""
    return tree_of(echoed(blocks_of(tree)))


def found(blocks: Blocks) -> Blocks:
    """A tree without what Notion would not take."""
    kept: list[Block] = []
    for each in blocks:
        match each:
            case Unsupported():
                pass
            case Quote(inner):
                kept.append(Quote(found(inner)))
            case List(items, start):
                kept.append(List(tuple(Item(found(item.blocks), item.done) for item in items), start))
            case TableBlock(rows):
                kept.append(TableBlock(tuple(tuple(map(_carriable, row)) for row in rows)))
            case Paragraph(runs):
                kept.append(Paragraph(_carriable(runs)))
            case _ if hasattr(each, "runs"):
                kept.append(type(each)(each.level, _carriable(each.runs)))
            case _:
                kept.append(each)
    return tuple(kept)


def _carriable(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    return tuple(_addressed(run) for run in runs if not isinstance(run, Unsupported))


def _addressed(run: Run) -> Run:
    match run:
        case TextRun(words, marks, link) if link:
            return TextRun(words, marks, f"https://a.b/{link}")
        case Image(source, alt):
            return Image(f"https://a.b/{source}", alt)
        case _:
            return run


@given(trees)
@settings(deadline=None)
def test_a_tree_in_notion_has_the_documented_form(tree: Blocks) -> None:
    whole = normalize(found(normalize(tree)))
    assert carried(whole) == held(whole)


@given(trees)
@settings(deadline=None)
def test_a_tree_that_notion_can_hold_is_read_back_unchanged(tree: Blocks) -> None:
    first = carried(normalize(found(normalize(tree))))
    assert normalize(carried(normalize(first))) == normalize(first)


@given(markdown)
@example("- a\n\n  ![b](https://c.d) e\n- [ ] f\n\n1. g\n")
@settings(deadline=None)
def test_markdown_is_stable_after_it_was_in_notion_once(source: str) -> None:
    once = write(carried(normalize(found(read(source)))))
    assert write(carried(read(once))) == once


def test_a_document_becomes_blocks() -> None:
    source = (
        "# Plan\n\nShip **it** [here](https://a.b).\n\n- one\n  - two\n- [x] done\n\n> said\n\n```py\nx = 1\n```\n\n---"
    )
    plain = [{"type": "text", "text": {"content": "two"}}]
    assert blocks_of(read(source))[2] == {
        "type": "bulleted_list_item",
        "bulleted_list_item": {
            "rich_text": [{"type": "text", "text": {"content": "one"}}],
            "children": [{"type": "bulleted_list_item", "bulleted_list_item": {"rich_text": plain}}],
        },
    }
    kinds = ["heading_1", "paragraph", "bulleted_list_item", "to_do", "quote", "code", "divider"]
    assert [each["type"] for each in blocks_of(read(source))] == kinds
    assert write(carried(read(source))) == source.replace("```py\n", "```python\n")


def test_a_table_keeps_its_header_and_one_without_a_header_gets_none() -> None:
    headed = blocks_of(read("| a | b |\n|---|---|\n| 1 | 2 |"))[0]["table"]
    bare = blocks_of(read("|  |  |\n|---|---|\n| 1 | 2 |"))[0]["table"]
    assert (headed["table_width"], headed["has_column_header"], len(headed["children"])) == (2, True, 2)
    assert (bare["table_width"], bare["has_column_header"], len(bare["children"])) == (2, False, 1)
    assert write(carried(read("|  |  |\n|---|---|\n| 1 | 2 |"))).startswith("|  |  |\n")


def test_an_image_is_a_block_where_it_is_alone_and_elsewhere_a_link() -> None:
    made = blocks_of(read("see ![a map](https://a.b/m.png) here"))
    assert [each["type"] for each in made] == ["paragraph", "image", "paragraph"]
    assert made[1]["image"]["external"] == {"url": "https://a.b/m.png"}
    [heading] = blocks_of(read("# ![a map](https://a.b/m.png)"))
    assert heading["heading_1"]["rich_text"][0]["text"] == {
        "content": "a map",
        "link": {"url": "https://a.b/m.png"},
    }


@pytest.mark.parametrize(
    "source", ["[a](b.md)", "![a](b.png)", "# ![](b.png)", "![]()", f"[a](https://b/{'c' * 2000})"]
)
def test_the_error_for_a_link_that_notion_refuses_names_it(source: str) -> None:
    with pytest.raises(InvalidRequest, match="complete URL"):
        blocks_of(read(source))


@pytest.mark.parametrize("link", ["https://a.b", "mailto:a@b.c", f"/{PAGE_ID.replace('-', '')}"])
def test_an_address_that_notion_accepts_is_a_link(link: str) -> None:
    [made] = blocks_of(read(f"[a]({link})"))
    assert made["paragraph"]["rich_text"][0]["text"]["link"] == {"url": link}


def test_a_mention_is_of_a_person() -> None:
    [made] = blocks_of(read(f"[@Ada](mention:{USER_ID}) knows"))
    mention = {"type": "mention", "mention": {"type": "user", "user": {"id": USER_ID}}}
    assert made["paragraph"]["rich_text"][0] == mention


@pytest.mark.parametrize("place", ["{}", "a {} b", "- {}", "> a\n>\n> {}", "| {} |\n|---|\n| a |", "# {}"])
def test_a_lost_part_is_refused_wherever_it_is(place: str) -> None:
    with pytest.raises(InvalidRequest, match="callout"):
        blocks_of(read(place.format("<!-- not carried: callout -->")))


def test_a_long_text_is_divided_as_notion_counts_characters() -> None:
    [made] = blocks_of((Paragraph((TextRun("🚀" * 2500),)),))
    parts = [each["text"]["content"] for each in made["paragraph"]["rich_text"]]
    assert [len(part) for part in parts] == [1000, 1000, 500]
    assert carried((Paragraph((TextRun("🚀" * 2500),)),)) == (Paragraph((TextRun("🚀" * 2500),)),)


def test_a_paragraph_of_too_many_styles_is_divided_and_a_heading_is_refused() -> None:
    source = "*a*b" * 60
    assert [len(each["paragraph"]["rich_text"]) for each in blocks_of(read(source))] == [100, 20]
    with pytest.raises(InvalidRequest, match="100 pieces"):
        blocks_of(read(f"# {source}"))


def test_lines_of_one_paragraph_are_one_text() -> None:
    [made] = blocks_of(read("\\\n".join(["line"] * 300)))
    assert len(made["paragraph"]["rich_text"]) == 1


def test_code_that_is_too_long_for_notion_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="too long"):
        blocks_of(read(f"```\n{'a' * 200_001}\n```"))


@pytest.mark.parametrize(
    ("said", "known"), [("py", "python"), ("C++", "c++"), ("visual basic", "visual basic"), ("brainf", "plain text")]
)
def test_languages_are_known_by_what_people_call_them(said: str, known: str) -> None:
    assert language_of(said) == known
    table = toml_beside(blocks.__file__, "languages.toml")
    assert set(table["aliases"].values()) <= set(table["names"]) == set(map(language_of, table["names"]))


READ: list[tuple[str, dict[str, Any], str]] = [
    ("toggle", {"rich_text": [text("More")]}, "<!-- not carried: toggle -->\n\n- More"),
    (
        "callout",
        {"rich_text": [text("Mind")], "icon": {"type": "emoji", "emoji": "⚠️"}},
        "<!-- not carried: callout -->\n\n> ⚠️\n>\n> Mind",
    ),
    ("bookmark", {"url": "https://a.b", "caption": []}, "<https://a.b><!-- not carried: bookmark -->"),
    ("equation", {"expression": "x^2"}, "```math\nx^2\n```"),
    ("child_page", {"title": "Minutes"}, "[Minutes](https://www.notion.so/"),
    ("unsupported", {"block_type": "form"}, "<!-- not carried: form -->"),
    ("table_of_contents", {"color": "default"}, "<!-- not carried: table of contents -->"),
    ("link_to_page", {"type": "page_id", "page_id": PAGE_ID}, f"https://www.notion.so/{PAGE_ID.replace('-', '')}"),
    (
        "image",
        {"type": "file", "file": {"url": "https://s3/x?sig=1", "expiry_time": "2026"}, "caption": [text("Map")]},
        "![Map](https://s3/x?sig=1)<!-- not carried: uploaded image -->",
    ),
    (
        "pdf",
        {"type": "external", "external": {"url": "https://a.b/c.pdf"}, "caption": []},
        "<!-- not carried: pdf -->",
    ),
    ("code", {"rich_text": [text("x")], "language": "plain text", "caption": []}, "```\nx\n```"),
    ("heading_2", {"rich_text": [text("More")], "is_toggleable": True}, "<!-- not carried: toggle -->\n\n## More"),
    ("numbered_list_item", {"rich_text": [text("c")], "list_start_index": 3}, "3. c"),
]


@pytest.mark.parametrize(("kind", "own", "said"), READ, ids=[kind for kind, *_ in READ])
def test_every_kind_of_block_is_read_with_its_text(kind: str, own: dict[str, Any], said: str) -> None:
    assert said in write(tree_of([block(kind, **own)]))


def test_blocks_that_were_not_read_are_named() -> None:
    [unread] = tree_of([block("synced_block", 7, inside=True, synced_from=None)])[1:]
    assert unread == Unsupported("what is inside c02fc1d3-db8b-45c5-a222-000000000007")


def test_inline_content_that_markdown_cannot_express_is_shown_and_named() -> None:
    date = {**text("2026-01-31"), "type": "mention", "mention": {"type": "date", "date": {"start": "2026-01-31"}}}
    sum_ = {**text("x^2"), "type": "equation", "equation": {"expression": "x^2"}}
    page = {**text("Plan", "https://www.notion.so/1"), "type": "mention", "mention": {"type": "page", "page": {}}}
    said = write(tree_of([block("paragraph", rich_text=[date, text(" "), sum_, text(" "), page])]))
    marked = "2026-01-31<!-- not carried: date --> x^2<!-- not carried: equation --> "
    assert said == f"{marked}[Plan](https://www.notion.so/1)"


def test_a_block_that_is_not_shared_is_named() -> None:
    assert tree_of([{"object": "block", "id": PAGE_ID}]) == (Unsupported("block that is not shared"),)


def test_markdown_has_a_tenth_of_the_size_of_a_pages_blocks() -> None:
    raw = json.dumps(SMALL_PAGE, separators=(",", ":"))
    said = write(tree_of(SMALL_PAGE))
    assert said == "## Release\n\nWe ship every second Monday, after the tests of **all** teams."
    assert 1_800 < len(raw) < 2_200
    assert len(said) * 10 < len(raw)


@pytest.mark.parametrize(
    ("kind", "said", "change"),
    [
        ("heading_2", "New", {"heading_2": {"rich_text": [{"type": "text", "text": {"content": "New"}}]}}),
        (
            "to_do",
            "- [x] New",
            {"to_do": {"rich_text": [{"type": "text", "text": {"content": "New"}}], "checked": True}},
        ),
        ("equation", "```math\nx\n```", {"equation": {"expression": "x"}}),
        ("image", "![](https://a.b)", {"image": {"external": {"url": "https://a.b"}}}),
        (
            "table_row",
            "| a |\n|---|",
            {"table_row": {"cells": [[{"type": "text", "text": {"content": "a"}}]]}},
        ),
    ],
)
def test_a_block_can_be_changed_to_one_of_its_kind_or_to_plain_text(
    kind: str, said: str, change: dict[str, Any]
) -> None:
    assert block_changes(block(kind, rich_text=[]), single_block(read(said))) == change


@pytest.mark.parametrize(("kind", "said"), [("paragraph", "# New"), ("code", "New"), ("heading_1", "## New")])
def test_a_block_cannot_become_another_kind(kind: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match="delete it"):
        block_changes(block(kind, rich_text=[]), single_block(read(said)))


@pytest.mark.parametrize("said", ["a\n\nb", "- a\n  - b", "![](https://a.b) c", "| a |\n|---|\n| b |", " "])
def test_several_blocks_cannot_replace_one(said: str) -> None:
    with pytest.raises(InvalidRequest, match="one block"):
        single_block(read(said))


def test_an_uploaded_picture_is_not_written_back() -> None:
    picture = block("image", type="file", file={"url": "https://s3/x", "expiry_time": "2026"}, caption=[])
    tree = tree_of([picture])
    assert tree == (Paragraph((Image("https://s3/x"), Unsupported("uploaded image"))),)
    with pytest.raises(InvalidRequest):
        blocks_of(tree)
