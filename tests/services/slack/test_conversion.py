"""Markdown as Slack's messages, and back: no text is lost, and no text becomes a mention."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpist.errors import InvalidRequest
from mcpist.markdown.reader import read
from mcpist.markdown.tree import Code, Heading, Image, Item, List, Paragraph, Quote, TableBlock, TextRun
from mcpist.markdown.writer import write
from mcpist_services.slack.block_reading import message_markdown
from mcpist_services.slack.blocks import MAX_BLOCKS, blocks_of, message
from mcpist_services.slack.mrkdwn import mrkdwn, read_mrkdwn, unescape
from tests.core.markdown.trees import markdown as markdowns
from tests.examples import examples
from tests.faults import for_each

MANY = settings(max_examples=examples(150), deadline=None)
HOSTILE = [
    "<!channel>",
    "<!here>",
    "<@U0123ABCD45>",
    "<#C0123ABCD45>",
    "<!subteam^S0123ABC>",
    "@channel",
    "<http://a.b|c>",
]
words = st.lists(st.sampled_from([*HOSTILE, "a", "文", " ", "&", "<", ">", "&lt;", "|", "x"]), max_size=8).map("".join)


def message_of(markdown: str) -> dict[str, Any]:
    return message(read(markdown))


def texts_of(value: Any) -> str:
    """All characters that a message's blocks show."""
    match value:
        case {"type": "text" | "link", "text": str(text)}:
            return text
        case dict():
            return "".join(texts_of(one) for one in value.values())
        case list():
            return "".join(texts_of(one) for one in value)
    return ""


def texts_in(value: Any) -> str:
    """All texts of a tree, in their order."""
    match value:
        case TextRun(text) | Code(text):
            return text
        case Image(source, alt):
            return alt or source
        case Paragraph(inner) | Heading(_, inner) | Quote(inner) | List(inner) | TableBlock(inner) | Item(inner):
            return texts_in(inner)
        case tuple():
            return "".join(map(texts_in, value))
    return ""


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W\d_]", text))


def is_within(few: str, many: str) -> bool:
    """Whether the letters are all there, in their order; an address may stand between them."""
    rest = iter(many)
    return all(letter in rest for letter in few)


# -- what a reader sees --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("It **works**, *really*, ~~no~~ `x`", "It *works*, _really_, ~no~ `x`"),
        ("[docs](https://a.b/c?d=1&e=2)", "<https://a.b/c?d=1&amp;e=2|docs>"),
        ("<https://a.b>", "<https://a.b>"),
        ("[local](/page)", "local (/page)"),
        ("- a\n- b", "- a\n- b"),
        ("> q", "&gt; q"),
        ("a & b < c > d", "a &amp; b &lt; c &gt; d"),
        ("[@Aiko](mention:U0123ABCD45) [@here](mention:here)", "<@U0123ABCD45> <!here>"),
        ("[#g](mention:C0123ABCD45) [@ops](mention:S0123ABCD45)", "<#C0123ABCD45> <!subteam^S0123ABCD45>"),
    ],
)
def test_markdown_becomes_mrkdwn(markdown: str, text: str) -> None:
    assert message_of(markdown)["text"] == text


@for_each(
    ("text", "markdown"),
    [
        ("It *works*, _really_, ~no~ `x`", "It **works**, *really*, ~~no~~ `x`"),
        ("*a _b_*", "**a _b_**"),
        ("2*3*4 snake_case_name", "2\\*3\\*4 snake_case_name"),
        ("<https://a.b/c?d=1&amp;e=2|docs>", "[docs](https://a.b/c?d=1&e=2)"),
        ("<mailto:a@b.c|a@b.c>", "[a@b.c](mailto:a@b.c)"),
        ("<@U012AB> <#C012AB|general> <!here> <!subteam^S012AB|@ops>",
         "[@U012AB](mention:U012AB) [@general](mention:C012AB) [@here](mention:here) [@ops](mention:S012AB)"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        ("a\nb\n\nc", "a\\\nb\n\nc"),
        ("&gt; q\n&gt; r", "> q\\\n> r"),
        ("• a\n• b", "- a\n- b"),
        ("before ```x &lt; <https://a.b|a.b>\ny``` after", "before\n\n```\nx < a.b\ny\n```\n\nafter"),
        ("a ``` b", "a \\`\\`\\` b"),
    ],
)  # fmt: skip
def test_mrkdwn_becomes_markdown(text: str, markdown: str) -> None:
    assert message_markdown({"text": text}) == markdown


@pytest.mark.parametrize(
    "markdown",
    [
        "a **b** *c* ~~d~~ `e`\\\nf",
        "a\n\nb",
        "- a\n  - b\n    1. c\n- d",
        "3. a\n4. b",
        "1. a\n   - b\n2. c",
        "> a\n>\n> b",
        "```\nx < y && `z`\n```",
        "a\n\n---\n\nb",
        "[docs](https://a.b/c) [@U0123ABCD45](mention:U0123ABCD45) [@here](mention:here)",
        "a\n\n- b\n\nc",
    ],
)
def test_what_rich_text_can_hold_comes_back_as_it_was(markdown: str) -> None:
    assert message_markdown(message_of(markdown)) == markdown


def test_headings_tasks_and_tables_keep_their_text() -> None:
    made = message_of("# Plan\n\n- [x] done\n- [ ] open\n\n| a | b |\n| --- | --- |\n| 1 | 2 |")
    assert message_markdown(made) == ("**Plan**\n\n- ☑ done\n- ☐ open\n\n```\na | b\n1 | 2\n```")


def test_a_bot_s_message_of_other_blocks_is_read_from_its_text_with_its_attachments() -> None:
    blocks = [{"type": "actions", "elements": []}]
    found = {"text": "*Build* failed", "blocks": blocks, "attachments": [{"fallback": "see &lt;log&gt;"}]}
    assert message_markdown(found) == "**Build** failed\n\nsee <log>"


def test_sections_and_headers_of_apps_are_read() -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "_soon_"}}
    blocks = [{"type": "header", "text": {"type": "plain_text", "text": "Deploy"}}, section, {"type": "divider"}]
    assert message_markdown({"blocks": blocks, "text": "x"}) == "**Deploy**\n\n*soon*\n\n---"


# -- what must never happen ----------------------------------------------------------------------------


@given(words)
@example("<!channel> &lt;!channel&gt;")
@MANY
def test_no_text_of_a_person_mentions_anybody(words: str) -> None:
    tree = read(words.replace("\\", "").replace("[", ""))
    text = mrkdwn(tree)
    assert not re.search(r"<[!@#]", text)
    kinds = set(re.findall(r'"type": "(\w+)"', json.dumps(blocks_of(tree))))
    assert not kinds & {"user", "usergroup", "broadcast", "channel"}


@given(words)
@MANY
def test_escaped_text_reads_back_as_it_was(words: str) -> None:
    text = mrkdwn((Paragraph((TextRun(words, frozenset({"code"})),)),)) if words else ""
    assert not re.search(r"[<>]|&(?!amp;|lt;|gt;)", text)
    assert unescape(text).replace("`", "") == words


@given(markdowns)
@example("| a | [b](https://c.d) |\n| --- | --- |\n| 文 | `強` |")
@MANY
def test_no_letter_is_lost_on_the_way_out(markdown: str) -> None:
    tree = read(markdown)
    try:
        made = message_of(markdown)
    except InvalidRequest:
        return  # nothing was sent
    assert is_within(letters(texts_in(tree)), letters(texts_of(made["blocks"])))
    if not any(isinstance(block, TableBlock) for block in tree):
        visible = re.sub(r"<(?:[^|<>]*\|)?([^<>]*)>", r"\1", made["text"])
        assert is_within(letters(texts_in(tree)), letters(unescape(visible)))


@given(markdowns)
@MANY
def test_what_was_read_from_a_message_is_stable(text: str) -> None:
    once = write(read_mrkdwn(text))
    assert write(read(once)) == once


@pytest.mark.parametrize("lost", ["<!-- not carried: macro -->", "a <!-- not carried: x --> b"])
def test_an_element_that_markdown_only_names_is_refused(lost: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot be written"):
        message_of(lost)


@pytest.mark.parametrize("id_", ["aiko", "@aiko", "U1", "c0123abcd45", "U0123ABCD45|x"])
def test_a_mention_of_no_id_is_refused(id_: str) -> None:
    with pytest.raises(InvalidRequest, match="no id"):
        message_of(f"[@x](mention:{id_})")


def test_a_message_has_text_and_not_too_many_parts() -> None:
    with pytest.raises(InvalidRequest, match="no text"):
        message_of("  \n")
    with pytest.raises(InvalidRequest, match="parts"):
        message_of("a\n\n---\n\n" * MAX_BLOCKS)
