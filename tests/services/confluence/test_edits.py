"""Edits of a page that has macros: they stay as they are, and so does all that is not edited."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.errors import Conflict, InvalidRequest
from mcpist.tools.declare.call import Call
from mcpist_services.confluence.edits import append, replaced_text, section
from mcpist_services.confluence.presentation import markdown, storage
from mcpist_services.confluence.tools import confluence
from tests.examples import examples
from tests.services.conversation import converse, work_of

work = partial(work_of, confluence)
MANY = settings(max_examples=examples(150), deadline=None)

TOC = (
    '<ac:structured-macro ac:macro-id="7" ac:name="toc">'
    '<ac:parameter ac:name="minLevel">1</ac:parameter></ac:structured-macro>'
)
STATUS = (
    '<ac:structured-macro ac:name="status"><ac:parameter ac:name="title">Friday</ac:parameter></ac:structured-macro>'
)
EXCERPT = '<ac:structured-macro ac:name="excerpt"><ac:rich-text-body><p>a</p></ac:rich-text-body></ac:structured-macro>'
DIAGRAM = (
    '<ac:structured-macro ac:name="mermaid"><ac:parameter ac:name="x">1</ac:parameter>'
    "<ac:plain-text-body><![CDATA[a --> b]]></ac:plain-text-body></ac:structured-macro>"
)
SOURCE = (
    f"{TOC}<h2>Goals</h2><p>Ship on Friday {STATUS}</p><h3>Why</h3><p>Because</p>"
    f"<h2>Risks</h2>{EXCERPT}<h1>End</h1>{DIAGRAM}"
)


def page(source: str, version: int = 4) -> dict[str, Any]:
    body = {"storage": {"representation": "storage", "value": source}}
    return {"id": "65551", "status": "current", "title": "Plan", "version": {"number": version}, "body": body}


def edited(tool: str, source: str = SOURCE, **arguments: Any) -> str:
    """What a tool makes of a page's source."""
    (read, write), _ = converse(work(tool, page_id="65551", **arguments), page(source), page(source))
    assert read == Call("GET", "/wiki/api/v2/pages/65551", {"body-format": "storage"})
    assert write.json["version"]["number"] == 5
    return str(write.json["body"]["value"])


# -- macros as marks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [SOURCE, TOC * 2, f"<p>a {STATUS} b {STATUS}</p>", EXCERPT, DIAGRAM])
def test_a_text_that_is_written_back_as_it_was_read_keeps_every_macro(source: str) -> None:
    again = edited("update_page", source, body=markdown(source))
    for macro in (TOC, STATUS, EXCERPT, DIAGRAM):
        assert again.count(macro) == source.count(macro)
    assert markdown(again) == markdown(source)


def test_the_contents_of_a_macro_are_changed_and_the_rest_of_it_stays() -> None:
    text = markdown(EXCERPT + DIAGRAM).replace("> a", "> **new**").replace("a --> b", "b --> c")
    again = edited("update_page", EXCERPT + DIAGRAM, body=text)
    assert again == EXCERPT.replace("a</p>", "<strong>new</strong></p>") + DIAGRAM.replace("a --> b", "b --> c")


def test_a_macro_whose_mark_is_removed_is_deleted_and_marks_may_move() -> None:
    first, _, rest = markdown(SOURCE).partition("\n\n")
    assert TOC not in edited("update_page", body=rest)
    assert edited("update_page", body=f"{rest}\n\n{first}").endswith(TOC)


def test_a_mark_of_no_macro_on_the_page_is_refused_and_nothing_is_written() -> None:
    for body in ("<!-- not carried: other macro -->", markdown(TOC) + "\n\n" + markdown(TOC)):
        with pytest.raises(InvalidRequest, match="not on the page"):
            converse(work("update_page", page_id="65551", body=body), page(TOC), {})


def test_an_empty_body_of_a_macro_can_be_filled() -> None:
    empty = '<ac:structured-macro ac:name="excerpt"><ac:rich-text-body /></ac:structured-macro>'
    assert edited("update_page", empty, body=f"{markdown(empty)}\n>\n> b") == EXCERPT.replace("a</p>", "b</p>")


# -- append -------------------------------------------------------------------------------------------


def test_a_text_is_added_at_the_end_and_all_else_stays() -> None:
    assert edited("append_to_page", body="New *text*.") == f"{SOURCE}<p>New <em>text</em>.</p>"


def test_a_page_of_columns_gets_a_section_more() -> None:
    columns = "<ac:layout><ac:layout-section><ac:layout-cell><p>a</p></ac:layout-cell></ac:layout-section></ac:layout>"
    longer = append(f"{columns}\n", "<p>b</p>")
    assert longer.startswith(columns.removesuffix("</ac:layout>"))
    assert longer.endswith('"fixed-width"><ac:layout-cell><p>b</p></ac:layout-cell></ac:layout-section></ac:layout>')
    assert markdown(longer) == "a\n\nb"


# -- a section ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", ["Risks", "## Risks", " risks "])
def test_the_text_under_a_heading_is_replaced_up_to_the_next_that_is_not_deeper(heading: str) -> None:
    assert edited("replace_section", heading=heading, body="None") == SOURCE.replace(EXCERPT, "<p>None</p>")


def test_a_section_has_its_deeper_headings() -> None:
    begin, end = section(SOURCE, "Goals")
    assert SOURCE[begin:end] == f"<p>Ship on Friday {STATUS}</p><h3>Why</h3><p>Because</p>"
    begin, end = section(SOURCE, "End")
    assert SOURCE[begin:end] == DIAGRAM


def test_a_section_ends_with_the_column_that_it_is_in() -> None:
    source = "<ac:layout-cell><h1>A</h1><p>x</p></ac:layout-cell><ac:layout-cell><p>y</p></ac:layout-cell>"
    begin, end = section(source, "A")
    assert source[begin:end] == "<p>x</p>"


def test_a_section_may_keep_its_macros_by_their_marks() -> None:
    body = f"Ship on Monday {markdown(STATUS)}"
    assert f"<p>Ship on Monday {STATUS}</p><h2>Risks</h2>" in edited("replace_section", heading="Goals", body=body)


@pytest.mark.parametrize("heading", ["Nowhere", "Twice"])
def test_a_heading_that_is_not_there_once_is_refused(heading: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        section("<h1>Twice</h1><h2>Twice</h2>", heading)
    assert refused.value.details["field"] == "heading"


# -- find and replace ---------------------------------------------------------------------------------


def test_a_text_is_replaced_and_macros_are_not_touched() -> None:
    assert edited("replace_text", old="Friday", new="Monday & <more>") == SOURCE.replace(
        "on Friday", "on Monday &amp; &lt;more&gt;"
    )


def test_a_text_that_is_there_several_times_needs_to_be_told() -> None:
    source = "<p>a &amp; b</p><ul><li>a &amp; b</li></ul><!-- a & b -->"
    with pytest.raises(InvalidRequest, match="2 times"):
        converse(work("replace_text", page_id="1", old="a & b", new="c"), page(source), {})
    changed = edited("replace_text", source, old="a & b", new="c", everywhere=True)
    assert changed == "<p>c</p><ul><li>c</li></ul><!-- a & b -->"


def test_a_text_that_is_not_there_is_refused() -> None:
    for old in ("Sunday", "a --> b", "minLevel"):
        with pytest.raises(InvalidRequest, match="0 times"):
            converse(work("replace_text", page_id="1", old=old, new="c"), page(SOURCE), {})


@given(st.text(st.sampled_from("ab<>&\"'; é文"), min_size=1), st.text(st.sampled_from("xy<>&\"'; é文")))
@MANY
def test_what_was_replaced_is_replaced_back(old: str, new: str) -> None:
    source = f"{TOC}{storage('begin')}<p>.</p>{DIAGRAM}"
    changed, times = replaced_text(source, ".", old)
    assert times == 1
    assert replaced_text(changed, old, new)[1] >= 1 or not old.strip()
    assert TOC in changed
    assert DIAGRAM in changed


def test_a_page_that_somebody_has_changed_since_is_not_edited() -> None:
    for tool, more in (("append_to_page", {"body": "a"}), ("replace_text", {"old": "a", "new": "b"})):
        with pytest.raises(Conflict):
            converse(work(tool, page_id="1", version=3, **more), page(SOURCE), {})
