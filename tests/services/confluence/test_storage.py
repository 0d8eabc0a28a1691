"""Storage format and Markdown, both ways."""

from time import process_time
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.errors import InvalidRequest
from mcpist.markdown.normal_form import normalize
from mcpist.markdown.tree import Blocks, Code, Image, Item, List, Paragraph, Run, TableBlock, TextRun
from mcpist_services.confluence.markup import Element, parse
from mcpist_services.confluence.presentation import markdown, storage
from mcpist_services.confluence.reading import from_storage
from mcpist_services.confluence.writing import to_storage
from tests.core.markdown.trees import markdown as texts
from tests.core.markdown.trees import marks, trees, words
from tests.examples import examples
from tests.faults import for_each
from tests.services.confluence.form import held, without_lost

MANY = settings(max_examples=examples(100), deadline=None)


def macro(name: str, inner: str = "", **parameters: str) -> str:
    said = "".join(f'<ac:parameter ac:name="{word}">{value}</ac:parameter>' for word, value in parameters.items())
    return f'<ac:structured-macro ac:name="{name}" ac:macro-id="1">{said}{inner}</ac:structured-macro>'


def body(inner: str) -> str:
    return f"<ac:rich-text-body>{inner}</ac:rich-text-body>"


def plain(text: str) -> str:
    return f"<ac:plain-text-body><![CDATA[{text}]]></ac:plain-text-body>"


def written(name: str, inner: str) -> str:
    return f'<ac:structured-macro ac:name="{name}" ac:schema-version="1">{inner}</ac:structured-macro>'


def task(text: str, status: str = "incomplete") -> str:
    parts = f"<ac:task-id>7</ac:task-id><ac:task-status>{status}</ac:task-status><ac:task-body>{text}</ac:task-body>"
    return f"<ac:task>{parts}</ac:task>"


def well_formed(source: str) -> ET.Element:
    return ET.fromstring(f'<x xmlns:ac="ac" xmlns:ri="ri">{source}</x>')  # noqa: S314


# -- from Confluence ----------------------------------------------------------------------------------


@for_each(
    ("source", "expected"),
    [
        ("<h2>A &mdash; b</h2><p>c&nbsp;d &lt; e</p>", "## A — b\n\nc\xa0d < e"),
        ("<p>a <strong>b</strong> <b>c</b> <em>d</em> <i>e</i></p>", "a **b** **c** *d* *e*"),
        (
            "<p><del>a</del> <span style='text-decoration: line-through;'>b</span> <code>c  d</code></p>",
            "~~a~~ ~~b~~ `c  d`",
        ),
        ("<p>\n  a\n  <strong> b</strong>\n</p>\n<p />\n<p>&nbsp;</p>", "a **b**"),
        ("<p>a<br/>b<br></p>", "a\\\nb"),
        ("<div><p>a</p><div>b</div></div>c", "a\n\nb\n\nc"),
        ("<ul><li>a<ul><li><p>b</p></li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ol start='3'><li>a</li></ol><ol><li>b</li></ol>", "3. a\n\n1) b"),
        ("<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"),
        ("<blockquote><p>a</p></blockquote><hr /><pre>x\n  y</pre>", "> a\n\n---\n\n```\nx\n  y\n```"),
        ('<p><a href="https://a.b/?c=1&amp;d=2">e <em>f</em></a></p>', "[e *f*](https://a.b/?c=1&d=2)"),
        ('<p><a href="https://a.b" data-card-appearance="inline"></a></p>', "<https://a.b>"),
        ('<p>due <time datetime="2026-01-31" /></p>', "due [2026-01-31](date:2026-01-31)"),
        ('<p><ac:emoticon ac:name="blue-star" ac:emoji-fallback="🎉" /><ac:emoticon ac:name="tick" /></p>', "🎉✅"),
        ('<p><img src="https://a.b/c.png" alt="d" /></p>', "![d](https://a.b/c.png)"),
        ('<ac:image ac:alt="d"><ri:url ri:value="https://a.b/c.png" /></ac:image>', "![d](https://a.b/c.png)"),
        ('<ac:image><ri:attachment ri:filename="a b.png" /></ac:image>', "![](attachment:a%20b.png)"),
        ("<table><tr><th>a</th></tr><tr><td>b</td></tr></table>", "| a |\n| --- |\n| b |"),
        ("<table><tbody><tr><td>a</td></tr></tbody></table>", "|  |\n| --- |\n| a |"),
        ("<table><tr><th>a</th></tr><tr><td><p>b</p><p>c</p></td></tr></table>", "| a |\n| --- |\n| b<br>c |"),
        (f"<ac:task-list>{task('a', 'complete')}{task('<span>b</span>')}</ac:task-list>", "- [x] a\n- [ ] b"),
        (
            f"<ac:task-list>{task('a')}<ac:task-list>{task('b')}</ac:task-list></ac:task-list>",
            "- [ ] a\n  - [ ] b",
        ),
        (f"<ac:task-list>{task(f'a<ac:task-list>{task("b")}</ac:task-list>')}</ac:task-list>", "- [ ] a\n  - [ ] b"),
    ],
)
def test_elements_that_markdown_can_express_become_markdown(source: str, expected: str) -> None:
    assert markdown(source) == expected


def link(inner: str, text: str = "see", anchor: str = "") -> str:
    return f'<p><ac:link ac:anchor="{anchor}">{inner}<ac:link-body>{text}</ac:link-body></ac:link></p>'


@for_each(
    ("source", "expected"),
    [
        (link('<ri:page ri:content-title="A/b" ri:space-key="ENG" />'), "[see](page:ENG/A%2Fb)"),
        (link('<ri:page ri:content-title="設計 1" />', anchor="Why?"), "[see](page:設計%201#Why%3F)"),
        ('<ac:link><ri:page ri:content-title="A" /></ac:link>', "[A](page:A)"),
        (
            '<ac:link><ri:page ri:content-title="A" /><ac:plain-text-link-body><![CDATA[b & c]]>'
            "</ac:plain-text-link-body></ac:link>",
            "[b & c](page:A)",
        ),
        (link("", anchor="Goals"), "[see](#Goals)"),
        (link('<ri:space ri:space-key="ENG" />'), "[see](space:ENG)"),
        (link('<ri:attachment ri:filename="a.pdf" />', "<strong>b</strong>"), "[**b**](attachment:a.pdf)"),
        ('<p><ac:link><ri:user ri:account-id="712020:1-a" /></ac:link></p>', "[@](mention:712020:1-a)"),
        ('<p>by <ri:user ri:account-id="5b10" /></p>', "by [@](mention:5b10)"),
        (link('<ri:blog-post ri:content-title="A" />'), "see<!-- not carried: link: A -->"),
        ('<p><ac:link><ri:user ri:userkey="ff80" /></ac:link></p>', "<!-- not carried: link: ff80 -->"),
        (
            link('<ri:attachment ri:filename="a.pdf"><ri:page ri:content-title="B" /></ri:attachment>'),
            "[see](attachment:a.pdf)<!-- not carried: link: a.pdf B -->",
        ),
    ],
)
def test_links_without_a_url_become_links(source: str, expected: str) -> None:
    assert markdown(source) == expected


@for_each(
    ("source", "expected"),
    [
        ("<p>x<sup>2</sup> <u>y</u></p>", "x2 y<!-- not carried: superscript --><!-- not carried: underline -->"),
        ('<p><span style="color: rgb(1,2,3);">a</span> b</p>', "a b<!-- not carried: colour -->"),
        (
            '<p><ac:inline-comment-marker ac:ref="1">a</ac:inline-comment-marker></p>',
            "a<!-- not carried: inline comment -->",
        ),
        (f"<p>is {macro('status', title='DONE')}.</p>", "is <!-- not carried: status macro: title=DONE -->."),
        (macro("toc") + "<p>a</p>", "<!-- not carried: toc macro -->\n\na"),
        (macro("excerpt", body("<p>a</p>")), "> <!-- not carried: excerpt macro -->\n>\n> a"),
        (
            macro("html", plain("<b>")),
            "<!-- not carried: html macro -->\n\n```\n<b>\n```",
        ),
        (
            macro("include", **{"": '<ac:link><ri:page ri:content-title="A" /></ac:link>'}),
            "<!-- not carried: include macro -->",
        ),
        (macro("jira", key="ENG-1"), "<!-- not carried: jira macro: key=ENG-1 -->"),
        (
            '<ac:layout><ac:layout-section ac:type="two_equal"><ac:layout-cell><p>a</p></ac:layout-cell>'
            "<ac:layout-cell><p>b</p></ac:layout-cell></ac:layout-section></ac:layout>",
            "<!-- not carried: layout of 2 columns -->\n\na\n\nb",
        ),
        (
            '<ac:layout><ac:layout-section ac:type="single"><ac:layout-cell><p>a</p></ac:layout-cell>'
            "</ac:layout-section></ac:layout>",
            "a",
        ),
        (
            "<table><tr><th colspan='2'>a</th></tr><tr><td rowspan='2'>b</td><td>c</td></tr><tr><td>d</td></tr>"
            "<tr><td>e</td><td>f</td></tr></table>",
            "| a<!-- not carried: colspan 2 --> |  |\n| --- | --- |\n"
            "| b<!-- not carried: rowspan 2 --> | c |\n|  | d |\n| e | f |",
        ),
        (
            "<table><tr><th>a</th></tr><tr><td><ul><li>b</li><li>c</li></ul></td></tr></table>",
            "| a |\n| --- |\n| - b<br>- c<!-- not carried: list in a cell --> |",
        ),
        (
            '<ac:image><ri:url ri:value="u" /><ac:caption>c</ac:caption></ac:image>',
            "![](u)<!-- not carried: caption -->\\\nc",
        ),
        (
            '<ac:image><ri:attachment ri:filename="a.png"><ri:page ri:content-title="B" /></ri:attachment></ac:image>',
            "![](attachment:a.png)<!-- not carried: image: a.png B -->",
        ),
        ("<ac:placeholder>type here</ac:placeholder>", "<!-- not carried: placeholder: type here -->"),
        ('<p><ac:emoticon ac:name="x" ac:emoji-fallback=":bufo:" /></p>', "<!-- not carried: emoticon :bufo: -->"),
        (
            '<ac:adf-extension><ac:adf-node type="panel"><ac:adf-attribute key="panel-type">note</ac:adf-attribute>'
            "<ac:adf-content><p>a</p></ac:adf-content></ac:adf-node><ac:adf-fallback><p>a</p></ac:adf-fallback>"
            "</ac:adf-extension>",
            "<!-- not carried: panel: panel-type=note -->\n\na",
        ),
        ("<iframe>a</iframe>", "<!-- not carried: iframe -->a"),
    ],
)
def test_elements_that_markdown_cannot_express_are_named_and_keep_their_text(source: str, expected: str) -> None:
    assert markdown(source) == expected


@pytest.mark.parametrize("kind", ["info", "note", "tip", "warning", "panel", "expand"])
def test_a_panel_is_a_quote_that_becomes_the_panel_again(kind: str) -> None:
    source = macro(kind, body("<p><strong>a</strong></p><p>b</p>"), title="T &amp; u")
    assert markdown(source) == f"> [!{kind}] **T & u**\n>\n> **a**\n>\n> b"
    again = storage(markdown(source))
    panel = well_formed(again)[0]
    assert [part.text for part in panel] == ["T & u", None]
    assert markdown(again) == markdown(source)


def test_lost_parameters_of_a_panel_are_named() -> None:
    source = macro("panel", body("<p>a</p>"), bgColor="#ABF", icon="false")
    assert markdown(source) == "> [!panel] <!-- not carried: panel macro: bgColor=#ABF -->\n>\n> a"


def test_code_keeps_its_text_and_its_language() -> None:
    text = 'if a < b and c["]]>"]:\n\n    pass  # &amp;\n'
    source = storage(f"```python\n{text}\n```")
    assert well_formed(source)[0][1].text == text
    assert from_storage(source) == (Code(text, "python"),)
    assert markdown(macro("noformat", plain("a"))) == "```\na\n```"


def test_the_title_of_code_is_named_as_lost_and_its_looks_are_dropped() -> None:
    text = plain("a")
    assert markdown(macro("code", text, title="x.py", theme="Midnight")) == (
        "<!-- not carried: code macro: title=x.py -->\n\n```\na\n```"
    )


# -- to Confluence ------------------------------------------------------------------------------------


@for_each(
    ("text", "expected"),
    [
        (
            "# a\n\nb & **c** *d* ~~e~~ `<f>`",
            "<h1>a</h1><p>b &amp; <strong>c</strong> <em>d</em> <del>e</del> <code>&lt;f&gt;</code></p>",
        ),
        ("***a***", "<p><strong><em>a</em></strong></p>"),
        ("a\\\nb", "<p>a<br />b</p>"),
        ("- a\n  1. b", "<ul><li><p>a</p><ol><li><p>b</p></li></ol></li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>'),
        ("> a\n\n---", "<blockquote><p>a</p></blockquote><hr />"),
        (
            "> [!NOTE]\n> a",
            written("note", body("<p>a</p>")),
        ),
        (
            "> [!IMPORTANT]\n> a",
            written("info", body("<p>a</p>")),
        ),
        ("> [!quote] a", "<blockquote><p>[!quote] a</p></blockquote>"),
        (
            "```js\na\n```",
            written("code", '<ac:parameter ac:name="language">js</ac:parameter>' + plain("a")),
        ),
        ('[a](https://b.c/?d=1&e="2")', '<p><a href="https://b.c/?d=1&amp;e=&quot;2&quot;">a</a></p>'),
        (
            "[a](page:ENG/B%20c#D)",
            link('<ri:page ri:space-key="ENG" ri:content-title="B c" />', "a", "D"),
        ),
        ("[a](#D)", link("", "a", "D")),
        ("[@Mia](mention:712020:1)", '<p><ac:link><ri:user ri:account-id="712020:1" /></ac:link></p>'),
        ("[on Friday](date:2026-01-31)", '<p><time datetime="2026-01-31" /></p>'),
        (
            "![a](attachment:b%20c.png)",
            '<p><ac:image ac:alt="a"><ri:attachment ri:filename="b c.png" /></ac:image></p>',
        ),
        ("![](https://a.b)", '<p><ac:image><ri:url ri:value="https://a.b" /></ac:image></p>'),
        (
            "| a |\n| --- |\n| b<br>c |",
            "<table><tbody><tr><th><p>a</p></th></tr><tr><td><p>b<br />c</p></td></tr></tbody></table>",
        ),
        ("|  |\n| --- |\n| b |", "<table><tbody><tr><td><p>b</p></td></tr></tbody></table>"),
        (
            "- [x] a\n  - [ ] b\n- c",
            "<ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>complete</ac:task-status><ac:task-body>a"
            "</ac:task-body></ac:task><ac:task-list><ac:task><ac:task-id>2</ac:task-id><ac:task-status>incomplete"
            "</ac:task-status><ac:task-body>b</ac:task-body></ac:task></ac:task-list></ac:task-list>"
            "<ul><li><p>c</p></li></ul>",
        ),
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>"),
        ("", ""),
    ],
)
def test_markdown_becomes_storage_format(text: str, expected: str) -> None:
    assert storage(text) == expected
    well_formed(expected)


@pytest.mark.parametrize(
    "text",
    ["<!-- not carried: toc macro -->", "a <!-- not carried: toc macro --> b", "- > | <!-- not carried: toc macro -->"],
)
def test_content_that_was_not_carried_is_not_overwritten(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        storage(text)
    assert refused.value.details["field"] == "body"
    assert "toc macro" in refused.value.details["problem"]


# -- both ways ----------------------------------------------------------------------------------------


@given(trees)
@MANY
def test_a_tree_is_read_back_as_confluence_can_hold_it(tree: Blocks) -> None:
    known = tuple(without_lost(tree))
    source = to_storage(known, "body")
    well_formed(source)
    assert from_storage(source) == held(known)


KINDS = st.sampled_from(["page:", "page:ENG/", "space:", "attachment:", "#", "date:2026-01-31", "mention:", "http://"])
LINKS = st.builds(str.__add__, KINDS, st.sampled_from(["", "A", "A%20b", "設計#1", "a/b#c#d", "%", "%2F", "+"]) | words)
LINKED = st.builds(TextRun, words, marks, LINKS) | st.builds(Image, LINKS, words)


@given(st.lists(LINKED, max_size=6))
@MANY
def test_links_are_read_back_as_confluence_can_hold_them(runs: list[Run]) -> None:
    tree = (Paragraph(tuple(runs)),)
    source = to_storage(tree, "body")
    well_formed(source)
    assert from_storage(source) == held(tree)


@given(texts)
@MANY
def test_markdown_is_stable_after_it_was_in_confluence_once(text: str) -> None:
    once = markdown(storage(text.replace("not carried", "-")))
    assert markdown(storage(once)) == once


TAGS = "p strong em code ul ol li table tbody tr td th h1 blockquote a span u ac:link ac:task-list ac:task ac:task-body"
TAGS += (
    " ac:task-status ac:image ac:structured-macro ac:rich-text-body ac:plain-text-body ac:parameter ac:layout-section"
)
ATTRIBUTES = [
    "",
    ' href="#a"',
    ' ac:name="info"',
    " ac:name='code'",
    ' colspan="3"',
    ' rowspan="2"',
    ' start="2"',
    " a",
    ' a="',
]
PIECES = [f"<{name}{more}>" for name in TAGS.split() for more in ATTRIBUTES]
PIECES += [f"</{name}>" for name in TAGS.split()] * 3
PIECES += [
    "a", " ", "\n", "&lt;", "&nbsp;", "&nope;", "&#0;", "&#99999999;", "&#xD800;",
    "<", ">", "&", '"', "]]>", "<!--", "-->",
    "<![CDATA[", "<!DOCTYPE x [<!ENTITY a 'b'>]>", "<?xml?>", "<br/>", "<hr>", '<ri:page ri:content-title="A" />',
    '<ri:user ri:account-id="1" />', '<ri:attachment ri:filename="a" />', "<time datetime='2026-01-31' />",
    "\ud800", "\0",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text())
@MANY
def test_any_markup_is_read_and_its_known_part_is_stable(source: str) -> None:
    tree = from_storage(source)
    assert normalize(tree) == tree
    known = markdown(to_storage(tuple(without_lost(tree)), "body"))
    assert markdown(storage(known)) == known


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<a b='", '<a b="c"', "<a/", "<!--", "<![CDATA[", "<!", "<?", "</", "</p>", "<p>", "&", "&#",
     "&#1", "&a",
     "<ul><li>", "<table><tr><td>", "<tr><td>a</td></tr>", "<td>a</td>", "<a" + "b" * 50, "a=", "<p a" + " " * 50,
     "<strong>a ", '<a href="b">', "<td rowspan='99999' colspan='99999'>", "<ac:task>"],
)  # fmt: skip
def test_broken_markup_is_read_in_linear_time(piece: str) -> None:
    before = process_time()
    markdown(piece * (50_000 // len(piece)))
    assert process_time() - before < 10


def test_a_document_cannot_define_entities() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><p>&b;</p>'
    assert "haha" not in markdown(bomb)
    assert from_storage("<p>&b;</p>") == (Paragraph((TextRun("&b;"),)),)


def test_elements_nested_too_deeply_keep_their_text() -> None:
    assert "deep" in markdown("<div>" * 5000 + "deep" + "</div>" * 5000 + "<p>behind</p>")
    assert markdown("<div>" * 5000 + "</div>" * 5000 + "<p>behind</p>") == "behind"


def test_a_very_long_row_keeps_its_text_and_does_not_lengthen_other_rows() -> None:
    (table,) = from_storage(f"<table><tr><th>a</th></tr><tr>{'<td>b</td>' * 150}</tr></table>")
    assert isinstance(table, TableBlock)
    assert {len(row) for row in table.rows} == {100}
    assert sum(run == TextRun("b") for cell in table.rows[1] for run in cell) == 150


def test_lists_of_tasks_under_a_task_stay_in_their_order() -> None:
    tasks = tuple(List((Item((Paragraph((TextRun(text),)),), done=False),)) for text in "bc")
    tree = (List((Item((Paragraph((TextRun("a"),)), *tasks), done=True),)),)
    assert from_storage(to_storage(tree, "body")) == tree


def test_halves_of_characters_in_names_are_replaced() -> None:
    (paragraph,) = from_storage('<ac:link><ri:page ri:content-title="a\ud800" /></ac:link>')
    assert paragraph == Paragraph((TextRun("a\ufffd", link="page:a%3F"),))


def test_markup_that_is_not_a_tag_is_text() -> None:
    assert parse("a < b <1> <p class='x>y'>c</p>").children == [
        "a ",
        "<",
        " b ",
        "<",
        "1> ",
        Element("p", {"class": "x>y"}, ["c"]),
    ]
