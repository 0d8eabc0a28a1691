"""Trees and texts for properties, made of what Markdown is most likely to misread."""

from typing import get_args

from hypothesis import strategies as st

from mcpist.markdown.tree import (
    Block,
    Blocks,
    Break,
    Code,
    Heading,
    Image,
    Item,
    List,
    Mark,
    Mention,
    Paragraph,
    Quote,
    Rule,
    Run,
    TableBlock,
    TextRun,
    Unsupported,
)

CHARACTERS = "ab1 \t\n\r\v\f\0\x01\x85\xa0\u3000\u2028\ud800\ufffe強「」。é🎉\\`*_~[]()<>!#&;:|-+=.,@'\"/x^%$?{}"
SNIPPETS = [
    "- ", "+ ", "* ", "1. ", "2) ", "# ", "## ", " ##", "> ", "---", "===", "***", "___", "- - -", "```", "~~~", "~~",
    "**", "__", "](", "![", "[a]: b", "[a](b)", "[ ] ", "[x] ", "| a | b |", "--|--", "<br>", "<BR />", "&amp;",
    "<aa:b>", "<a@b.c>", "<!-- not carried: x -->", "<!-- x -->", "<b>", "[^1]: a", "[^1]", "[@a](mention:1)", "\\\n",
    "  \n", "\n\n", "\n    ", "\n- ", "\n> ", "\n\t", "snake_case", "2 * 3", "mention:1", "https://a.b/c?d=1&e=2",
]  # fmt: skip

texts = st.lists(st.sampled_from([*CHARACTERS, *SNIPPETS]) | st.characters(), max_size=6).map("".join)
markdown = st.lists(st.sampled_from([*CHARACTERS, *SNIPPETS]), max_size=40).map("".join)
words = st.sampled_from(["a", "b ", " c", " ", "文", "「文」", "d.", "(e)", "_", "~", "!", "\\", "f*", "g_h"])
marks = st.frozensets(st.sampled_from(get_args(Mark.__value__)))
links = st.sampled_from(["", "", "", "u", "v"]) | texts
runs = st.lists(
    st.builds(TextRun, words | texts, marks, links)
    | st.builds(TextRun, words, marks)
    | st.builds(Image, texts, texts)
    | st.builds(Mention, texts, texts)
    | st.builds(Unsupported, texts)
    | st.just(Break()),
    max_size=5,
).map(tuple[Run, ...])
leaves: st.SearchStrategy[Block] = (
    st.builds(Paragraph, runs)
    | st.builds(Heading, st.integers(-1, 8), runs)
    | st.builds(Code, texts, st.just("") | texts)
    | st.builds(TableBlock, st.lists(st.lists(runs, max_size=2).map(tuple), max_size=3).map(tuple))
    | st.builds(Unsupported, texts)
    | st.just(Rule())
)


def _inside(blocks: st.SearchStrategy[Blocks]) -> st.SearchStrategy[Block]:
    items = st.builds(Item, blocks, st.sampled_from([None, None, True, False]))
    starts = st.sampled_from([None, None, 1, 0, 7, 99, -1, 10**9])
    return st.builds(Quote, blocks) | st.builds(List, st.lists(items, max_size=3).map(tuple), starts)


def _sequences(block: st.SearchStrategy[Block]) -> st.SearchStrategy[Blocks]:
    return st.lists(block, max_size=3).map(tuple[Block, ...])


trees = _sequences(st.recursive(leaves, lambda block: _inside(_sequences(block)), max_leaves=6))
