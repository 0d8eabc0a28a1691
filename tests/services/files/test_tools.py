"""The module's tools, as they are called by a person with files."""

import json
from typing import Any

import pytest

from mcpist.errors import AuthorizationError, FileNotFound, InvalidArguments, InvalidRequest
from mcpist.files import access
from mcpist.files.content import JSON, PLAIN, YAML
from mcpist.files.values import readable_json
from mcpist.render.answer import compact
from mcpist.tools.declare.call import Lookup, PartialList
from mcpist_services.files.tools import files
from tests.core.files.callers import ADA, BOB, UMA
from tests.faults import for_each

pytestmark = pytest.mark.usefixtures("aws")

ISSUES = [
    {
        "number": number,
        "title": f"issue {number}",
        "state": "open" if number % 3 else "closed",
        "user": {"login": "uma"},
    }
    for number in range(1, 101)
]


def put(value: Any, content_type: str = JSON) -> str:
    content = value.encode() if isinstance(value, str) else readable_json(value)
    return access.put(UMA, content, content_type).path


def call(tool: str, caller: Any = UMA, **arguments: Any) -> Any:
    """Return the answer of a tool, as `run` asks it."""
    declared = files.tools[tool]
    lookup: Any = declared.describe_work(declared.validate(arguments))
    assert isinstance(lookup, Lookup)
    assert files.open_store is not None
    return lookup.function(files.open_store(caller), **lookup.arguments)


def more(answer: Any) -> str:
    assert isinstance(answer, PartialList)
    return answer.more


def problem(tool: str, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(InvalidRequest) as refused:
        call(tool, **arguments)
    return refused.value.details["field"], refused.value.details["problem"]


def test_lines_are_read_part_by_part_until_the_end() -> None:
    path = put("\n".join(f"line {number}" for number in range(10)), PLAIN)
    first = call("read", path=path, limit=4)
    assert first.json == {"part": "lines 0-3 of 10", "content": "line 0\nline 1\nline 2\nline 3"}
    assert first.more == "Go on with offset=4."
    assert call("read", path=path, offset=8, limit=4) == {"part": "lines 8-9 of 10", "content": "line 8\nline 9"}


def test_bytes_are_read_between_characters() -> None:
    text = "日本語テキスト"
    path = put(text, PLAIN)
    first = call("read", path=path, limit=7, unit="bytes")
    assert (first.json["content"], first.more) == ("日本語", "Go on with unit=bytes, offset=9.")
    assert call("read", path=path, offset=9, limit=100, unit="bytes")["content"] == "テキスト"


def test_a_line_that_is_longer_than_an_answer_is_read_on_in_bytes() -> None:
    path = put("short\n" + "é" * 60_000, PLAIN)
    cut = call("read", path=path, offset=1)
    assert cut.more == "The line is longer than an answer: go on with unit=bytes, offset=30006."
    rest = call("read", path=path, offset=90_006, limit=30_000, unit="bytes")
    assert rest["content"] == "é" * 15_000
    assert more(call("read", path=path)) == "Go on with offset=1."


@pytest.mark.parametrize(("unit", "offset"), [("lines", 1), ("bytes", 5)])
def test_an_offset_past_the_end_says_where_the_end_is(unit: str, offset: int) -> None:
    field, text = problem("read", path=put("line\n", PLAIN), offset=offset, unit=unit)
    assert (field, text.partition(":")[0]) == ("offset", "it is past the end")


def test_an_empty_file_is_read_as_empty() -> None:
    assert call("read", path=put("", PLAIN)) == {"part": "it is empty", "content": ""}
    assert call("read", path=put("", PLAIN), unit="bytes") == {"part": "it is empty", "content": ""}


def test_a_pattern_finds_lines_with_those_around_them() -> None:
    path = put("a\nb\nERROR one\nc\nd\nerror two", PLAIN)
    assert call("search", path=path, pattern="(?i)error") == [
        {"offset": 2, "text": "ERROR one"},
        {"offset": 5, "text": "error two"},
    ]
    rows = call("search", path=path, pattern="ERROR", context=1)
    assert [(row["offset"], row["match"]) for row in rows] == [(1, False), (2, True), (3, False)]


def test_a_search_that_finds_more_says_where_to_go_on() -> None:
    path = put("x\n" * 10, PLAIN)
    first = call("search", path=path, pattern="x", limit=4)
    assert (len(first.json), first.more) == (4, "6 more lines match: go on with offset=4.")
    assert len(call("search", path=path, pattern="x", offset=4)) == 6


def test_of_a_long_line_the_part_around_the_match_is_shown() -> None:
    (row,) = call("search", path=put("a" * 5_000 + "needle" + "b" * 5_000, PLAIN), pattern="needle")
    assert "needle" in row["text"]
    assert len(row["text"]) < 310
    assert row["text"].startswith("…a")
    rows = call("search", path=put("z\n" + "a" * 500, PLAIN), pattern="z", context=1)
    assert rows[1]["text"] == "a" * 300 + "…"


def test_a_search_in_json_finds_whole_rows() -> None:
    (row,) = call("search", path=put(ISSUES), pattern='"number":42,')
    assert json.loads(row["text"].rstrip(","))["title"] == "issue 42"


def test_a_pattern_that_is_none_is_refused() -> None:
    assert problem("search", path=put("x", PLAIN), pattern="(")[0] == "pattern"


@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        (json.dumps(ISSUES), JSON),
        ("\n".join(map(json.dumps, ISSUES)), PLAIN),
        ("\n".join(f"- {json.dumps(issue)}" for issue in ISSUES), YAML),
    ],
)
def test_json_json_lines_and_yaml_can_be_queried(text: str, content_type: str) -> None:
    path = put(text, content_type)
    assert call("query", path=path, expression="[?number > `98`].title") == ["issue 99", "issue 100"]
    assert call("query", path=path, expression="length([?state == 'open'])") == 67


def test_a_table_has_the_rows_and_columns_that_are_wanted() -> None:
    path = put({"total": 100, "issues": ISSUES})
    where = ["state = closed", "number >= 90"]
    found = call("table", path=path, columns=["number", "user.login"], where=where, order_by="-number")
    assert found == [{"number": number, "user.login": "uma"} for number in (99, 96, 93, 90)]
    first = call("table", path=path, limit=2)
    assert (len(first.json), first.more) == (2, "100 of 100 rows fit: go on with offset=2.")


def test_a_file_without_rows_has_no_table() -> None:
    assert problem("table", path=put({"a": 1}))[0] == "path"
    assert problem("query", path=put("# text", PLAIN), expression="a") == (
        "path",
        "it is no JSON: Expecting value: line 1 column 1 (char 0)",
    )


def test_a_file_is_known_without_reading_it(aws: list[str]) -> None:
    path = put(ISSUES)
    aws.clear()
    shown = call("stat", path=path)
    assert (shown["path"], shown["user"], shown["roles"]) == (path, "uma", [])
    assert "GetObject" not in aws


def test_a_file_is_verified_by_reading_it_again(aws: list[str]) -> None:
    path = put(ISSUES)
    call("query", path=path, expression="[0]")
    aws.clear()
    assert call("verify", path=path)["valid"] is True
    assert aws.count("GetObject") == 1


def test_files_are_listed_the_newest_first_with_those_that_are_shared() -> None:
    mine, hers = put("a", PLAIN), access.put(BOB, b"b", PLAIN)
    assert [row["path"] for row in call("list")] == [mine]
    access.share(BOB, hers.path, ["members"])
    assert {row["path"] for row in call("list")} == {mine, hers.path}
    assert more(call("list", limit=1)) == "2 files: go on with offset=1."
    assert [row["path"] for row in call("list", caller=BOB)] == [hers.path]


def test_a_list_shows_each_hash_once() -> None:
    path = put("a", PLAIN)
    shown = compact(call("list"), files.tools["list"].shows)
    assert path in shown
    assert shown.count(path.rpartition("/")[2]) == 1


def test_an_administrator_sees_that_files_exist_without_what_leads_to_their_content() -> None:
    put("a", PLAIN)
    (row,) = call("list", caller=ADA, everybody=True)
    assert (row["user"], row["size_bytes"]) == ("uma", 1)
    assert not {"path", "sha256"} & set(row)
    with pytest.raises(AuthorizationError):
        call("list", everybody=True)


def test_two_files_are_compared() -> None:
    old, new = put("a\nb\nc", PLAIN), put("a\nB\nc", PLAIN)
    assert call("diff", a=old, b=new) == {
        "same": False,
        "removed": 1,
        "added": 1,
        "diff": "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c",
    }
    assert call("diff", a=old, b=old)["same"] is True


def test_a_file_is_shared_with_roles_and_the_others_can_read_it() -> None:
    path = put(ISSUES)
    with pytest.raises(FileNotFound):
        call("stat", caller=BOB, path=path)
    assert call("share", path=path, roles=["members"])["roles"] == ["members"]
    assert call("query", caller=BOB, path=path, expression="[0].number") == 1
    assert call("share", path=path, roles=[])["roles"] == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": 1}),
        ("read", {"path": "x", "offset": -1}),
        ("read", {"path": "x", "limit": 0}),
        ("read", {"path": "x", "limit": "5"}),
        ("read", {"path": "x", "more": 1}),
        ("read", {"path": "x", "unit": "words"}),
        ("search", {"path": "x", "pattern": ""}),
        ("query", {"path": "x", "expression": "a" * 2_001}),
        ("table", {"path": "x", "limit": 501}),
        ("share", {"path": "x"}),
    ],
)
def test_bad_arguments_are_refused_by_the_schema(tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        call(tool, **arguments)


def test_an_expression_that_finds_null_says_so_and_what_the_file_is() -> None:
    found = call("query", path=put({"total": 1, "issues": ISSUES[:1]}), expression="isues")
    assert found.json is None
    assert found.more.startswith("The expression finds null in this file, which is: {total: integer, issues: [1 of {")


@for_each(("expression", "found"), [(".[0].number", ISSUES[0]["number"]), (" .[0] | title", ISSUES[0]["title"])])
def test_an_expression_may_begin_with_a_dot(expression: str, found: object) -> None:
    assert call("query", path=put(ISSUES), expression=expression) == found
