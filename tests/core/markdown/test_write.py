from mcpist.markdown.reader import read
from mcpist.markdown.tree import (
    Blocks,
    Break,
    Code,
    Heading,
    Image,
    Item,
    List,
    Mention,
    Paragraph,
    Quote,
    Rule,
    Run,
    TableBlock,
    Unsupported,
)
from mcpist.markdown.writer import plain_text, write
from tests.core.markdown.builders import item, paragraph, text
from tests.faults import for_each

A, B, C = (item(letter) for letter in "abc")

BLOCKS: dict[str, Blocks] = {
    "": (Paragraph(()), List(()), TableBlock(((),))),
    "## a\n\nb": (Heading(2, (text("a"),)), paragraph("b")),
    "# a<br>b": (Heading(1, (text("a"), Break(), text("b"))),),
    "# a \\##": (Heading(0, (text("a ##"),)),),
    "#": (Heading(1, ()),),
    "> a\n>\n> > b\n\n>": (Quote((paragraph("a"), Quote((paragraph("b"),)))), Quote(())),
    "- a\n  - b\n- c": (List((Item((paragraph("a"), List((B,)))), C)),),
    "- a\n\n* b\n\n- c": (List((A,)), List((B,)), List((C,))),
    "1. a\n\n1) b": (List((A,), 1), List((B,), 1)),
    "9. a\n10. b\n\n    c": (List((A, Item((paragraph("b"), paragraph("c")))), 9),),
    "- a\n\n  2. b": (List((Item((paragraph("a"), List((B,), 2))),)),),
    "- a\n\n  -\n  - b": (List((Item((paragraph("a"), List((Item(()), B)))),)),),
    "- * - ***": (List((Item((List((Item((List((Item((Rule(),)),)),)),)),)),)),),
    "- [ ] a\n- [x]\n- [x]\n\n  ***": (
        List((Item((paragraph("a"),), done=False), Item((), done=True), Item((Rule(),), done=True))),
    ),
    "- ```\n  a\n\n   b\n  ```": (List((Item((Code("a\n\n b"),)),)),),
    "````sh\n```\n````": (Code("```", "sh"),),
    "~~~ a`b\n\n\n~~~": (Code("\n", "a`b"),),
    "```a&#124;b\n---\n```": (Code("---", "a|b"),),
    "~~~ ~`\n~~~": (Code("", "~`"),),
    "| a | b |\n| --- | --- |\n| c\\|d<br>`\\|` |  |": (
        TableBlock((((text("a"),), (text("b"),)), ((text("c|d"), Break(), text("|", "code")),))),
    ),
    "<!-- not carried: a b -->\n\n---": (Unsupported("a\n<b>"), Rule()),
}  # fmt: skip


@for_each("markdown", list(BLOCKS))
def test_blocks_are_written(markdown: str) -> None:
    assert write(BLOCKS[markdown]) == markdown


RUNS: dict[str, tuple[Run, ...]] = {
    "a **b** *c* ~~d~~ `e`": (
        text("a "), text("b", "strong"), text(" "), text("c", "emphasis"), text(" "), text("d", "strike"), text(" "),
        text("e", "code"),
    ),
    "**_a_**": (text("a", "strong", "emphasis"),),
    "**a _b_**_c_": (text("a ", "strong"), text("b", "strong", "emphasis"), text("c", "emphasis")),
    "a**b**c": (text("a"), text("b", "strong"), text("c")),
    "**a** b": (text("a ", "strong"), text("b")),
    "a **b**": (text("a"), text(" b ", "strong")),
    "**a** **b**": (text("a", "strong"), text(" "), text("b", "strong")),
    "`` `a ``": (text("`a", "code"),),
    "`  a  `": (text(" a ", "code"),),
    "` `": (text(" ", "code"),),
    "これは**「強調」**です": (text("これは"), text("「強調」", "strong"), text("です")),
    "foo**bar.**&#98;az": (text("foo"), text("bar.", "strong"), text("baz")),
    "**a _b_**_&#32;c_": (text("a ", "strong"), text("b", "strong", "emphasis"), text(" c", "emphasis")),
    "a&#126;~~b~~": (text("a~"), text("b", "strike")),
    "[a **b**](c)": (text("a ", link="c"), text("b", "strong", link="c")),
    "**a**[**b**c](d)": (text("a", "strong"), text("b", "strong", link="d"), text("c", link="d")),
    "<https://a.b>": (text("https://a.b", link="https://a.b"),),
    "[a](b_(c)?d&e)": (text("a", link="b_(c)?d&e"),),
    "[\\[a\\]](<b c(\\>>)": (text("[a]", link="b c(>"),),
    "a\\![b](c)": (text("a!"), text("b", link="c")),
    "![a\\]](b)": (Image("b", "a]"),),
    "[@Ada](mention:a/b%20%29)": (Mention("a/b )", "Ada"),),
    "a\\\n\\- b": (text("a"), Break(), text("- b")),
    "a <!-- not carried: b -->": (text("a "), Unsupported("b")),
}  # fmt: skip


@for_each("markdown", list(RUNS))
def test_runs_are_written(markdown: str) -> None:
    assert write((Paragraph(RUNS[markdown]),)) == markdown


AS_THEY_ARE = [
    "a_b snake_case 2 * 3 ~5 a < b > c AT&T R&D; x<y> Vec<T> C:\\dir\\file [WIP] [1] a [b] (c) 50% #1 1.5 - x | y",
    "#tag", "a__b", "-5", "+1", "1.5", "a. b", "(a)", "e = mc^2", "$5", "@ada", "https://a.b/c_d?e=f&g=h", "<div>",
    "<!-- a -->", "[^1]: a", "強調 * です", "“quoted” — it's…",
]  # fmt: skip


@for_each("line", list(AS_THEY_ARE))
def test_text_that_cannot_be_misread_stays_as_it_is(line: str) -> None:
    assert write((paragraph(line),)) == line


ESCAPED = {
    "- a": r"\- a", "+": r"\+", "* a": r"\* a", "1. a": r"1\. a", "12) a": r"12\) a", "# a": r"\# a", "> a": r"\> a",
    "---": r"\---", "- - -": r"\- - -", "```": r"\`\`\`", "~~~": r"\~\~\~", "[a]: b": r"\[a]: b", "[x] a": r"\[x] a",
    "| --- |": r"\| --- |", ":-|-:": r"\:-|-:", "===": r"\===",
    "*a*": r"\*a\*", "_a_": r"\_a\_", "~~a~~": r"\~\~a\~\~", "`a`": r"\`a\`",
    "[a](b)": r"\[a\](b)", "![a](b)": r"!\[a\](b)", "<aa:b>": r"\<aa:b>", "<a@b.c>": r"\<a@b.c>", "&amp;": r"\&amp;",
    r"\*": r"\\\*", "<br>": r"\<br>", "<!-- not carried: a -->": r"\<!-- not carried: a -->",
}  # fmt: skip


@for_each("line", list(ESCAPED))
def test_text_that_could_be_misread_is_escaped(line: str) -> None:
    assert write((paragraph(line),)) == ESCAPED[line]
    assert read(ESCAPED[line]) == (paragraph(line),)
    assert read(write((paragraph("a|b", Break(), line),))) == (paragraph("a|b", Break(), line),)


def test_a_tree_of_any_depth_is_written() -> None:
    block = Quote((List((Item((paragraph("a"), paragraph("b"))),)),))
    for _ in range(5_000):
        block = Quote((block,))
    assert write((block,)).endswith("> a\n" + "> " * 31 + ">\n" + "> " * 32 + "b")


def test_plain_is_the_text_without_marks() -> None:
    assert plain_text((text("a", "strong"), Break(), Mention("1", "b"), Image("c", "d"), Unsupported("e"))) == "a\n@bd"
