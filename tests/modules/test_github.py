"""Each tool's exact request, and how pages and files are read."""

from base64 import b64encode
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest
from mcpist.tools.call import Answer, Call, Calls, Work
from mcpist_modules.github import github

REPOSITORY = {"owner": "octo", "repo": "app"}
OBJECT = {"accept": "application/vnd.github.object+json"}


def work(tool: str, **arguments: Any) -> Work:
    found = github.tools[tool]
    return found.describe_work(found.validate(arguments))


def converse(calls: Calls, *answers: Answer) -> tuple[list[Call], Any]:
    """All Calls of a tool that is answered like this, and what it returns."""
    sent = [next(calls)]
    for answer in answers:
        try:
            sent.append(calls.send(answer))
        except StopIteration as end:
            return sent, end.value
    raise AssertionError("the tool asks for more")


def page(items: Any, following: str = "") -> Answer:
    link = f'<https://api.github.com/first?page=1>; rel="first", <{following}>; rel="next"' if following else ""
    return Answer(200, {"link": link} if link else {}, items)


SINGLE = [
    ("get_me", {}, Call("GET", "/user")),
    ("get_repo", REPOSITORY, Call("GET", "/repos/octo/app")),
    ("get_issue", REPOSITORY | {"issue_number": 7}, Call("GET", "/repos/octo/app/issues/7")),
    ("get_pull", REPOSITORY | {"pull_number": 8}, Call("GET", "/repos/octo/app/pulls/8")),
]

FIRST = [
    (
        "list_repos",
        {},
        Call("GET", "/user/repos", {"visibility": "all", "sort": "full_name", "per_page": 50}),
    ),
    (
        "list_repos",
        {"visibility": "private", "affiliation": ["owner", "collaborator"], "sort": "pushed", "direction": "desc"},
        Call(
            "GET",
            "/user/repos",
            {
                "visibility": "private",
                "affiliation": "owner,collaborator",
                "sort": "pushed",
                "direction": "desc",
                "per_page": 50,
            },
        ),
    ),
    ("get_file", REPOSITORY | {"path": "README.md"}, Call("GET", "/repos/octo/app/contents/README.md", headers=OBJECT)),
    (
        "get_file",
        REPOSITORY | {"path": "/docs/設計 1.md", "ref": "feature/x"},
        Call("GET", "/repos/octo/app/contents/docs/%E8%A8%AD%E8%A8%88%201.md", {"ref": "feature/x"}, headers=OBJECT),
    ),
    ("list_commits", REPOSITORY | {"limit": 5}, Call("GET", "/repos/octo/app/commits", {"per_page": 5})),
    (
        "list_commits",
        REPOSITORY
        | {
            "sha": "main",
            "path": "src",
            "author": "ada",
            "since": "2026-01-01T00:00:00Z",
            "until": "2026-02-01T00:00:00Z",
        },
        Call(
            "GET",
            "/repos/octo/app/commits",
            {
                "sha": "main",
                "path": "src",
                "author": "ada",
                "since": "2026-01-01T00:00:00Z",
                "until": "2026-02-01T00:00:00Z",
                "per_page": 50,
            },
        ),
    ),
    (
        "list_issues",
        REPOSITORY | {"limit": 500},
        Call(
            "GET",
            "/repos/octo/app/issues",
            {"state": "open", "sort": "created", "direction": "desc", "per_page": 100},
        ),
    ),
    (
        "list_issues",
        REPOSITORY
        | {
            "state": "all",
            "labels": ["bug", "good first issue"],
            "assignee": "*",
            "creator": "ada",
            "milestone": "none",
            "since": "2026-01-01T00:00:00Z",
            "sort": "updated",
            "direction": "asc",
        },
        Call(
            "GET",
            "/repos/octo/app/issues",
            {
                "state": "all",
                "labels": "bug,good first issue",
                "assignee": "*",
                "creator": "ada",
                "milestone": "none",
                "since": "2026-01-01T00:00:00Z",
                "sort": "updated",
                "direction": "asc",
                "per_page": 50,
            },
        ),
    ),
    (
        "search_issues",
        {"q": "repo:octo/app crash", "sort": "created", "order": "asc", "limit": 1},
        Call("GET", "/search/issues", {"q": "repo:octo/app crash", "sort": "created", "order": "asc", "per_page": 1}),
    ),
    (
        "list_pulls",
        REPOSITORY | {"head": "ada:topic", "base": "main"},
        Call(
            "GET",
            "/repos/octo/app/pulls",
            {
                "state": "open",
                "head": "ada:topic",
                "base": "main",
                "sort": "created",
                "direction": "desc",
                "per_page": 50,
            },
        ),
    ),
]


def test_every_tool_has_an_exact_request_here() -> None:
    assert {tool for tool, *_ in SINGLE + FIRST} == set(github.tools)


@pytest.mark.parametrize(("tool", "arguments", "call"), SINGLE)
def test_a_single_request_is_exactly_this(tool: str, arguments: dict[str, Any], call: Call) -> None:
    assert work(tool, **arguments) == call


@pytest.mark.parametrize(("tool", "arguments", "call"), FIRST)
def test_the_first_of_several_requests_is_exactly_this(tool: str, arguments: dict[str, Any], call: Call) -> None:
    assert next(work(tool, **arguments)) == call


def test_no_tool_changes_anything() -> None:
    assert all(tool.reads for tool in github.tools.values())


@pytest.mark.parametrize(
    ("owner", "path"),
    [
        ("a/b", "/repos/a%2Fb/app"),
        ("a b", "/repos/a%20b/app"),
        ("日本", "/repos/%E6%97%A5%E6%9C%AC/app"),
        ("a?x=1#y", "/repos/a%3Fx%3D1%23y/app"),
    ],
)
def test_an_owner_cannot_leave_its_place(owner: str, path: str) -> None:
    assert github.tools["get_repo"].function(owner=owner, repo="app") == Call("GET", path)


def test_a_file_in_a_folder_with_a_name_of_many_kinds_stays_one_path() -> None:
    call = next(work("get_file", **REPOSITORY, path="a b/..c/d?e#f.md"))
    assert call.path == "/repos/octo/app/contents/a%20b/..c/d%3Fe%23f.md"


@pytest.mark.parametrize("path", ["docs/../../../../user", "..", "./a", "a\\..\\b"])
def test_a_file_cannot_leave_its_repository(path: str) -> None:
    with pytest.raises(InvalidRequest):
        next(work("get_file", **REPOSITORY, path=path))


def test_an_owner_cannot_climb() -> None:
    with pytest.raises(InvalidRequest):
        work("get_repo", owner="..", repo="app")


@pytest.mark.parametrize("owner", ["octo/app", "", "a b"])
def test_an_owner_with_a_slash_is_refused_before_anything_is_sent(owner: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        work("get_repo", owner=owner, repo="app")
    assert refused.value.details["field"] == "owner"


def test_pages_follow_the_next_link_and_become_one_list() -> None:
    calls = work("list_issues", **REPOSITORY, labels=["bug"], limit=250)
    following = "https://api.github.com/repositories/1/issues?labels=bug&per_page=100&after=Y3Vyc29y%3D%3D&page=2"
    sent, issues = converse(
        calls,
        page([{"number": n} for n in range(100)], following),
        page([{"number": n} for n in range(100, 200)], following.replace("page=2", "page=3")),
        page([{"number": n} for n in range(200, 300)], following.replace("page=2", "page=4")),
    )
    assert [issue["number"] for issue in issues] == list(range(250))
    assert [call.path for call in sent] == ["/repos/octo/app/issues"] * 3
    assert [call.query.get("page") for call in sent] == [None, "2", "3"]
    assert sent[1].query["after"] == "Y3Vyc29y=="
    assert sent[1].query["labels"] == "bug"


def test_pages_end_where_no_link_leads_on() -> None:
    sent, pulls = converse(work("list_pulls", **REPOSITORY, limit=500), page([{"number": 1}]))
    assert len(sent) == 1
    assert pulls == [{"number": 1}]


def test_an_empty_list_stays_an_empty_list() -> None:
    assert converse(work("list_commits", **REPOSITORY), page([]))[1] == []


def test_a_link_to_another_host_is_never_followed_there() -> None:
    calls = work("list_repos", limit=200)
    sent, _ = converse(calls, page([{}] * 100, "https://evil.example/steal?page=2"), page([{}]))
    assert sent[1] == Call(
        "GET", "/user/repos", {"visibility": "all", "sort": "full_name", "per_page": 100, "page": "2"}
    )


def test_pages_without_an_end_are_given_up() -> None:
    endless = page([], "https://api.github.com/user/repos?page=2")
    sent, repos = converse(work("list_repos"), *[endless] * 10)
    assert len(sent) == 10
    assert repos == []


def test_a_search_keeps_its_total_and_its_merged_items() -> None:
    calls = work("search_issues", q="crash", limit=150)
    first = page({"total_count": 900, "items": [{"number": n} for n in range(100)]}, "https://api.github.com/x?page=2")
    second = page({"total_count": 900, "items": [{"number": n} for n in range(100, 200)]})
    _, found = converse(calls, first, second)
    assert found["total_count"] == 900
    assert [item["number"] for item in found["items"]] == list(range(150))


def read_file(answer: dict[str, Any]) -> Any:
    return converse(work("get_file", **REPOSITORY, path="a"), Answer(200, {}, answer))[1]["content"]


def test_a_file_is_read_as_text() -> None:
    lines = b64encode("# 設計\n".encode()).decode()
    assert read_file({"type": "file", "encoding": "base64", "content": f"{lines[:6]}\n{lines[6:]}\n"}) == "# 設計\n"


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "file", "encoding": "base64", "content": b64encode(b"\x89PNG\xff").decode()},
        {"type": "file", "encoding": "base64", "content": "%%%a"},
        {"type": "file", "encoding": "none", "content": ""},
        {"type": "submodule", "sha": "1"},
    ],
    ids=["binary", "broken", "too large", "submodule"],
)
def test_what_is_no_text_has_no_content(answer: dict[str, Any]) -> None:
    assert read_file(answer) is None


def test_an_empty_file_has_an_empty_text() -> None:
    assert read_file({"type": "file", "encoding": "base64", "content": ""}) == ""


def test_a_folder_is_read_as_the_list_of_its_names() -> None:
    entries = [{"name": "src", "type": "dir"}, {"name": "a.md", "type": "file"}]
    assert read_file({"type": "dir", "entries": entries}) == "- src/\n- a.md"
