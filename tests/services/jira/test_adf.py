"""Atlassian's document format: what is written is valid and reads back, and nothing read is lost in silence."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpist.errors import InvalidRequest
from mcpist.markdown.reader import read
from mcpist.markdown.tree import (
    Block,
    Blocks,
    Heading,
    Image,
    Item,
    List,
    Paragraph,
    Quote,
    Runs,
    TableBlock,
    Unsupported,
)
from mcpist_services.jira.fields import adf, markdown
from mcpist_services.jira.normalization import shaped
from mcpist_services.jira.reading import from_adf
from mcpist_services.jira.writing import to_adf
from tests.core.markdown.trees import markdown as texts
from tests.core.markdown.trees import trees
from tests.faults import for_each

INLINE = {"text", "hardBreak", "mention"}
TEXTUAL = {"paragraph", "bulletList", "orderedList", "codeBlock", "mediaSingle"}
# Which nodes may stand in which, of those that are written: Atlassian's documentation and its JSON schema.
HELD = {
    "doc": TEXTUAL | {"heading", "taskList", "blockquote", "rule", "table"},
    "blockquote": TEXTUAL,
    "bulletList": {"listItem"},
    "orderedList": {"listItem"},
    "listItem": TEXTUAL | {"taskList"},
    "taskList": {"taskItem", "taskList"},
    "taskItem": INLINE,
    "paragraph": INLINE,
    "heading": INLINE,
    "codeBlock": {"text"},
    "mediaSingle": {"media"},
    "table": {"tableRow"},
    "tableRow": {"tableHeader", "tableCell"},
    "tableHeader": {"paragraph"},
    "tableCell": {"paragraph"},
}
MAY_BE_EMPTY = {"doc", "taskItem", "paragraph", "heading", "codeBlock"}
FIRST = {"listItem": {"paragraph", "codeBlock", "mediaSingle"}, "taskList": {"taskItem"}}

PATIENT = settings(deadline=None)

pictures = st.builds(Paragraph, st.just((Image("https://a.b/c.png", "C"),)))


def _around(blocks: Blocks, picture: Block, place: int) -> Blocks:
    pictured = (*blocks, picture)
    return [pictured, (Quote(pictured),), (List((Item(pictured),), 3),), (List((Item(pictured, True),)),)][place]


documents = st.builds(_around, trees, pictures, st.integers(0, 3)) | trees


def carried(blocks: Blocks) -> Blocks:
    """A tree without what is lost."""
    return tuple(_without(block) for block in blocks if not isinstance(block, Unsupported))


def _without(block: Block) -> Block:
    match block:
        case Paragraph(runs):
            return Paragraph(_kept(runs))
        case Heading(level, runs):
            return Heading(level, _kept(runs))
        case Quote(blocks):
            return Quote(carried(blocks))
        case List(items, start):
            return List(tuple(Item(carried(item.blocks), item.done) for item in items), start)
        case TableBlock(rows):
            return TableBlock(tuple(tuple(map(_kept, row)) for row in rows))
        case _:
            return block


def _kept(runs: Runs) -> Runs:
    return tuple(run for run in runs if not isinstance(run, Unsupported))


def faults(node: dict[str, Any]) -> Iterator[str]:
    """What Atlassian's rules forbid in a document."""
    name, content = node["type"], node.get("content", [])
    if name == "text":
        marks = {mark["type"] for mark in node.get("marks", [])}
        yield from ["a text is empty"] if not node["text"] else []
        yield from ["code has other marks"] if "code" in marks and marks - {"code", "link"} else []
    elif name in HELD:
        yield from [f"{name} is empty"] if not content and name not in MAY_BE_EMPTY else []
        yield from (
            [f"{name} begins with another"] if content and content[0]["type"] not in FIRST.get(name, HELD[name]) else []
        )
    for inner in content:
        yield from [f"{inner['type']} in {name}"] if inner["type"] not in HELD[name] else []
        yield from ["marks in codeBlock"] if name == "codeBlock" and "marks" in inner else []
        yield from faults(inner)


def tasks(node: dict[str, Any]) -> list[str]:
    own = [node["attrs"]["localId"]] if node["type"] in {"taskList", "taskItem"} else []
    return own + [found for inner in node.get("content", []) for found in tasks(inner)]


@given(documents)
@PATIENT
def test_a_tree_becomes_a_valid_document_and_is_read_back_unchanged(blocks: Blocks) -> None:
    blocks = carried(blocks)
    document = to_adf(blocks, "body")
    assert not list(faults(document))
    assert len(set(tasks(document))) == len(tasks(document))
    assert from_adf(document) == shaped(blocks)
    assert shaped(shaped(blocks)) == shaped(blocks)


@given(texts)
@example("\ud800\n- [ ] ")
@PATIENT
def test_markdown_is_stable_after_the_first_time(text: str) -> None:
    try:
        once = markdown(adf(text, "body"))
    except InvalidRequest:
        return
    assert markdown(adf(once, "body")) == once


names = st.sampled_from([*HELD, *INLINE, "panel", "expand", "decisionList", "date", "inlineCard", "media", "new", ""])
attributes = st.dictionaries(
    st.sampled_from(["text", "url", "timestamp", "title", "state", "id", "panelType"]), st.text(max_size=5)
)
marked = st.lists(st.fixed_dictionaries({"type": st.sampled_from(["strong", "code", "link", "underline"])}), max_size=2)
nodes = st.recursive(
    st.fixed_dictionaries(
        {"type": names}, optional={"text": st.text(max_size=5), "attrs": attributes, "marks": marked}
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": names, "content": st.lists(inner, max_size=4)}, optional={"attrs": attributes}
    ),
    max_leaves=12,
)


@given(nodes)
@PATIENT
def test_every_document_can_be_read(node: dict[str, Any]) -> None:
    text = markdown({"type": "doc", "content": [node]})
    assert read(text) == from_adf({"type": "doc", "content": [node]})


def content(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = adf(text, "body")["content"]
    return found


def names_of(text: str) -> list[Any]:
    """The outline of what a text becomes: names, with lists for what they hold."""

    def outline(node: dict[str, Any]) -> Any:
        inner = [outline(each) for each in node.get("content", []) if each["type"] != "text"]
        return [node["type"], *inner] if inner else node["type"]

    return [outline(node) for node in content(text)]


@for_each(
    ("text", "outline"),
    [
        ("# a\n\nb", ["heading", "paragraph"]),
        ("> # a\n> > b", [["blockquote", "paragraph", "paragraph"]]),
        ("> a\n> ***\n> b", [["blockquote", "paragraph"], "rule", ["blockquote", "paragraph"]]),
        (">", []),
        ("- a\n  - b", [["bulletList", ["listItem", "paragraph", ["bulletList", ["listItem", "paragraph"]]]]]),
        ("-", [["bulletList", ["listItem", "paragraph"]]]),
        ("- - a", [["bulletList", ["listItem", "paragraph", ["bulletList", ["listItem", "paragraph"]]]]]),
        ("- [ ] a\n  - [x] b\n- [ ] c", [["taskList", "taskItem", ["taskList", "taskItem"], "taskItem"]]),
        ("- [ ] a\n- b", [["taskList", "taskItem"], ["bulletList", ["listItem", "paragraph"]]]),
        ("- [ ] a\n  - b", [["taskList", "taskItem"], ["bulletList", ["listItem", "paragraph"]]]),
        ("![C](https://a.b/c.png)", [["mediaSingle", "media"]]),
        ("see ![C](https://a.b/c.png)", ["paragraph"]),
        ("![C](c.png)", ["paragraph"]),
        ("[@Mia](mention:5b)\\\nb", [["paragraph", "mention", "hardBreak"]]),
    ],
)
def test_content_that_jira_cannot_hold_is_converted_to_the_nearest_form(text: str, outline: list[Any]) -> None:
    assert names_of(text) == outline


def test_a_numbered_list_continues_its_numbers_after_content_that_it_cannot_hold() -> None:
    first, table, after, second = content("3. a\n\n   | b |\n   |---|\n\n   c\n4. d")
    assert [first["type"], table["type"], after["type"], second["type"]] == [
        "orderedList",
        "table",
        "paragraph",
        "orderedList",
    ]
    assert (first["attrs"], second["attrs"]) == ({"order": 3}, {"order": 4})


def test_inline_code_keeps_its_link_and_no_other_mark() -> None:
    (paragraph,) = content("**[`a`](https://b.c)** ~~*d*~~")
    assert [text.get("marks") for text in paragraph["content"]] == [
        [{"type": "link", "attrs": {"href": "https://b.c"}}, {"type": "code"}],
        None,
        [{"type": "em"}, {"type": "strike"}],
    ]


def test_the_ids_of_tasks_differ_between_texts() -> None:
    one, other = adf("- [ ] a", "body"), adf("- [ ] b", "body")
    assert not set(tasks(one)) & set(tasks(other))
    assert adf("- [ ] a", "body") == one
    assert [task["attrs"]["state"] for task in content("- [ ] a\n- [x] b")[0]["content"]] == ["TODO", "DONE"]


def test_a_table_without_a_header_gets_none() -> None:
    cells = [{"type": "tableCell", "content": [text_node("a")]}, {"type": "tableCell", "content": [text_node("b")]}]
    document = {
        "type": "doc",
        "version": 1,
        "content": [{"type": "table", "content": [{"type": "tableRow", "content": cells}]}],
    }
    assert markdown(document).splitlines()[-1] == "| a | b |"
    assert adf(markdown(document), "body") == document


@pytest.mark.parametrize(
    "text",
    [
        "a <!-- not carried: status --> b",
        "> <!-- not carried: status -->",
        "- | <!-- not carried: status --> |\n  |---|",
    ],
)
def test_content_that_was_not_carried_is_not_overwritten(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        adf(text, "description")
    assert refused.value.details["field"] == "description"
    assert "status" in refused.value.details["problem"]


def lost(name: str) -> str:
    return f"<!-- not carried: {name} -->"


def text_node(text: str, *marks: dict[str, Any]) -> dict[str, Any]:
    """A paragraph of one text."""
    return {
        "type": "paragraph",
        "content": [{"type": "text", "text": text, **({"marks": list(marks)} if marks else {})}],
    }


def node(name: str, *inner: dict[str, Any], **attrs: Any) -> dict[str, Any]:
    return {"type": name, "attrs": attrs, "content": list(inner)}


@for_each(
    ("found", "text"),
    [
        (node("paragraph", node("emoji", shortName=":tada:", text="🎉")), "🎉"),
        (node("paragraph", node("emoji", shortName=":ship_it:")), ":ship_it:"),
        (node("paragraph", node("status", text="LATE", color="red")), "LATE"),
        (node("paragraph", node("date", timestamp="1769817600000")), "2026-01-31"),
        (node("paragraph", node("date", timestamp="soon")), lost("date")),
        (node("paragraph", node("mention", id="557058:1", text="@Mia")), "[@Mia](mention:557058:1)"),
        (node("paragraph", node("inlineCard", url="https://a.b")), "<https://a.b>"),
        (node("paragraph", node("inlineCard", data={})), lost("inlineCard")),
        (node("blockCard", url="https://a.b"), "<https://a.b>"),
        (node("paragraph", node("mediaInline", id="1", collection="")), lost("mediaInline")),
        (node("mediaSingle", node("media", type="external", url="https://a.b/c", alt="C")), "![C](https://a.b/c)"),
        (node("mediaGroup", node("media", type="file", id="1", alt="c.png")), lost("attached file c.png")),
        (
            node("mediaSingle", node("media", type="file", id="1"), node("caption", {"type": "text", "text": "C"})),
            f"{lost('attached file')}\n\nC",
        ),
        (node("panel", text_node("a"), panelType="warning"), f"{lost('warning panel')}\n\n> a"),
        (node("expand", text_node("b"), title="More"), f"{lost('expand')}\n\n**More**\n\nb"),
        (node("decisionList", node("decisionItem", {"type": "text", "text": "Go"})), f"{lost('decisions')}\n\n- Go"),
        (node("taskList", node("blockTaskItem", text_node("a"), state="DONE")), "- [x] a"),
        (node("layoutSection", text_node("a")), f"{lost('layoutSection')}\n\na"),
        (node("extension", extensionKey="toc"), lost("extension")),
        (text_node("a", {"type": "underline"}, {"type": "strong"}), f"**a**{lost('underline')}"),
        (text_node("a", {"type": "textColor", "attrs": {"color": "#ff0000"}}), f"a{lost('textColor')}"),
        ({**text_node("a"), "marks": [{"type": "alignment", "attrs": {"align": "center"}}]}, f"a{lost('alignment')}"),
        (node("paragraph"), ""),
    ],
)  # fmt: skip
def test_reading_keeps_the_text_and_names_the_lost_parts(found: dict[str, Any], text: str) -> None:
    assert markdown({"type": "doc", "version": 1, "content": [found]}) == text


def test_a_lost_style_is_named_once_after_its_paragraph() -> None:
    red = {"type": "textColor", "attrs": {"color": "#ff0000"}}
    texts = [
        {"type": "text", "text": f"{word} ", "marks": marks} for word, marks in (("a", [red]), ("b", []), ("c", [red]))
    ]
    assert markdown({"content": [{"type": "paragraph", "content": texts}]}) == "a b c <!-- not carried: textColor -->"


def test_merged_cells_keep_their_positions() -> None:
    def row(*cells: dict[str, Any]) -> dict[str, Any]:
        return node("tableRow", *cells)

    table = node(
        "table",
        row(*(node("tableHeader", text_node(name)) for name in "abc")),
        row(node("tableCell", text_node("d"), rowspan=2), node("tableCell", text_node("e"), colspan=2)),
        row(node("tableCell", text_node("f")), node("tableCell", text_node("g"))),
        row(*(node("tableCell", text_node(name)) for name in "hij")),
    )
    lines = markdown({"content": [table]}).splitlines()
    assert lines[2:] == [
        f"| d{lost('merged cells')} | e{lost('merged cells')} |  |",
        "|  | f | g |",
        "| h | i | j |",
    ]


def test_the_span_of_a_cell_is_limited() -> None:
    table = node("table", node("tableRow", node("tableCell", text_node("a"), colspan=10**9, rowspan=10**9)))
    (found,) = from_adf({"content": [table]})
    assert isinstance(found, TableBlock)
    assert len(found.rows[1]) == 100


def test_blocks_in_a_cell_become_lines_and_are_marked_as_lost() -> None:
    items = node("bulletList", node("listItem", text_node("b")), node("listItem", text_node("c")))
    cell = node("tableHeader", text_node("a"), items, node("codeBlock", {"type": "text", "text": "d"}))
    (found,) = from_adf({"content": [node("table", node("tableRow", cell))]})
    assert isinstance(found, TableBlock)
    text = markdown({"content": [node("table", node("tableRow", cell))]})
    assert (
        text.splitlines()[0] == "| a<br>• b<br>• c<!-- not carried: list --><br>`d`<!-- not carried: code block --> |"
    )


@pytest.mark.parametrize(("document", "text"), [(None, ""), ("as it is", "as it is"), ({"type": "doc"}, "")])
def test_a_value_that_is_not_a_document_is_read_too(document: Any, text: str) -> None:
    assert markdown(document) == text
