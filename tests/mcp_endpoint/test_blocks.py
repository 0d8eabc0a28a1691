"""The content blocks of an answer: one text for clients that read no other, or a block for each part."""

import pytest
from mcp_types import ContentBlock, ImageContent, ResourceLink, TextContent

from mcp_endpoint.blocks import FILE_META_KEY, Part, content

PICTURE = ImageContent(type="image", data="AA==", mime_type="image/png")
LINK = ResourceLink(name="b", uri="mcpist://batches/b")
FILE = ResourceLink(name="f", uri="mcpist://files/f", _meta={FILE_META_KEY: {}})


def text(says: str) -> TextContent:
    return TextContent(type="text", text=says)


@pytest.mark.parametrize(
    ("parts", "blocks"),
    [
        ([], []),
        (["a"], [text("a")]),
        (["a", "b", "c"], [text("a\n\nb\n\nc")]),
        ([PICTURE], [PICTURE]),
        (["a", PICTURE], [text("a"), PICTURE]),
        (["a", LINK, "b"], [text("a\n\nb"), LINK]),
        (["a", PICTURE, "b", PICTURE], [text("a\n\n[image: block 2]\n\nb"), PICTURE, PICTURE]),
        (["a", FILE, PICTURE, "b"], [text("a\n\n[image: block 3]\n\nb"), FILE, PICTURE]),
    ],
)
def test_all_text_is_in_the_first_block_and_names_what_stood_above_it(
    parts: list[Part], blocks: list[ContentBlock]
) -> None:
    assert content(parts) == blocks


def test_each_part_is_a_block_in_its_place_for_a_client_that_asks_for_it() -> None:
    assert content(["a", PICTURE, "b", LINK], separate=True) == [text("a"), PICTURE, text("b"), LINK]


def test_a_client_without_links_reads_them_as_text_in_the_same_block() -> None:
    (block,) = content(["a", FILE, LINK], links=False)
    assert isinstance(block, TextContent)
    assert block.text.startswith('a\n\n{"name":"b"')
    assert content(["a", FILE], links=False, separate=True) == [text("a")]
