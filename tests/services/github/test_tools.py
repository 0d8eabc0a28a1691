"""Each tool's exact request, and how pages and files are read."""

import re
from base64 import b64encode
from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest
from mcpist.files.content import FileContent
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist_services.github.tools import github
from tests.services.conversation import converse, work_of

REPOSITORY = {"owner": "octo", "repo": "app"}


work = partial(work_of, github)


def page(items: Any, following: str = "") -> ServiceResponse:
    link = f'<https://api.github.com/first?page=1>; rel="first", <{following}>; rel="next"' if following else ""
    return ServiceResponse(200, {"link": link} if link else {}, items)


@pytest.mark.parametrize(
    ("owner", "path"),
    [
        ("a/b", "/repos/a%2Fb/app"),
        ("a b", "/repos/a%20b/app"),
        ("日本", "/repos/%E6%97%A5%E6%9C%AC/app"),
        ("a?x=1#y", "/repos/a%3Fx%3D1%23y/app"),
    ],
)
def test_an_owner_cannot_leave_its_place_in_the_path(owner: str, path: str) -> None:
    assert github.tools["get_repo"].function(owner=owner, repo="app") == Call("GET", path)


def test_a_file_path_with_special_characters_stays_one_path() -> None:
    call = next(work("get_file", **REPOSITORY, path="a b/..c/d?e#f.md"))
    assert call.path == "/repos/octo/app/contents/a%20b/..c/d%3Fe%23f.md"


@pytest.mark.parametrize("path", ["docs/../../../../user", "..", "./a", "a\\..\\b"])
def test_a_file_cannot_leave_its_repository(path: str) -> None:
    with pytest.raises(InvalidRequest):
        next(work("get_file", **REPOSITORY, path=path))


def test_an_owner_cannot_leave_its_place_by_dots() -> None:
    with pytest.raises(InvalidRequest):
        work("get_repo", owner="..", repo="app")


@pytest.mark.parametrize("owner", ["octo/other", "octo/app/x", "", "a b"])
def test_an_owner_with_a_slash_is_refused_before_any_request(owner: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        work("get_repo", owner=owner, repo="app")
    assert refused.value.details["field"] == "owner"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/octo/app/issues/42",
        "https://github.com/octo/app/issues/42#issuecomment-7",
        " https://www.github.com/octo/app/pull/42/files?w=1",
        "https://api.github.com/repos/octo/app/issues/42",
    ],
)
def test_a_pasted_address_gives_owner_repository_and_number(url: str) -> None:
    assert work("get_issue", owner=url, repo=url, issue_number=url).path == "/repos/octo/app/issues/42"


@pytest.mark.parametrize(
    "url", ["https://github.com/octo/app", "https://github.com/octo/app.git", "https://github.com/octo/app?x=1"]
)
def test_the_address_of_a_repository_gives_owner_and_repository(url: str) -> None:
    assert work("get_repo", owner=url, repo=url).path == "/repos/octo/app"


@pytest.mark.parametrize(
    "url", ["https://example.com/octo/app/issues/42", "https://github.com.example.com/octo/app/issues/42"]
)
def test_the_address_of_another_website_is_no_owner(url: str) -> None:
    with pytest.raises(InvalidArguments):
        work("get_issue", owner=url, repo="app", issue_number=42)


def test_a_number_inside_an_object_is_taken_where_a_text_is_wanted() -> None:
    comment = {"path": 7, "line": 3, "body": 42}
    review = work("create_review", **REPOSITORY, pull_number=7, event="COMMENT", body=5, comments=[comment])
    assert review.json["comments"] == [{"path": "7", "line": 3, "body": "42"}]


def test_a_search_may_hold_times() -> None:
    found = next(work("search_issues", q="is:open updated:<now-90d"))
    assert re.fullmatch(r"is:open updated:<\d{4}-\d\d-\d\d", found.query["q"])


def test_a_run_is_named_by_its_page() -> None:
    page = "https://github.com/octo/app/actions/runs/123/job/456"
    assert work("get_run", **REPOSITORY, run_id=page).path == "/repos/octo/app/actions/runs/123"


@pytest.mark.parametrize("workflow", [161335, "161335"])
def test_a_workflow_is_started_by_the_id_that_its_list_shows(workflow: int | str) -> None:
    call = work("dispatch_workflow", **REPOSITORY, workflow_id=workflow, ref="main")
    assert call.path == "/repos/octo/app/actions/workflows/161335/dispatches"


def test_found_issues_and_notifications_name_their_repository_and_number() -> None:
    address = "https://api.github.com/repos/octo/app"
    _, found = converse(work("search_issues", q="is:open"), {"items": [{"number": 4, "repository_url": address}]})
    assert found["items"][0] == {"number": 4, "repository_url": address, "owner": "octo", "repo": "app"}
    subjects = [{"url": f"{address}/pulls/42"}, {"url": f"{address}/releases/9"}, {"url": None}]
    _, notes = converse(work("list_notifications"), [{"subject": subject} for subject in subjects])
    assert [note.get("number") for note in notes] == [42, None, None]


def test_pages_follow_the_next_link_and_become_one_list() -> None:
    calls = work("list_issues", **REPOSITORY, labels=["bug"], limit=250)
    following = "https://api.github.com/repositories/1/issues?labels=ux&per_page=9&after=Y3Vyc29y%3D%3D&page=2"
    sent, issues = converse(
        calls,
        page([{"number": n} for n in range(84)], following),
        page([{"number": n} for n in range(84, 168)], following.replace("page=2", "page=3")),
        page([{"number": n} for n in range(168, 250)]),
    )
    assert [issue["number"] for issue in issues] == list(range(250))
    assert [call.path for call in sent] == ["/repos/octo/app/issues"] * 3
    assert [call.query.get("page") for call in sent] == [None, "2", "3"]
    assert (sent[1].query["after"], sent[1].query["labels"], sent[1].query["per_page"]) == ("Y3Vyc29y==", "bug", 84)


def test_a_link_to_another_host_is_never_followed_there() -> None:
    calls = work("list_repos", limit=200)
    sent, _ = converse(calls, page([{}] * 100, "https://evil.example/steal?page=2"), page([{}]))
    assert sent[1] == Call(
        "GET", "/user/repos", {"visibility": "all", "sort": "full_name", "per_page": 100, "page": "2"}
    )


def test_a_branch_starts_from_the_head_of_the_default_branch() -> None:
    sent, made = converse(
        work("create_branch", **REPOSITORY, branch="fix/login"),
        ServiceResponse(200, {}, {"sha": "abc"}),
        ServiceResponse(201, {}, {"ref": "refs/heads/fix/login"}),
    )
    assert sent[0] == Call("GET", "/repos/octo/app/commits/HEAD")
    assert sent[1] == Call("POST", "/repos/octo/app/git/refs", json={"ref": "refs/heads/fix/login", "sha": "abc"})
    assert made == {"ref": "refs/heads/fix/login"}


@pytest.mark.parametrize("tool", ["update_issue", "update_pull", "request_reviewers"])
def test_a_change_of_nothing_is_refused(tool: str) -> None:
    number = "issue_number" if tool == "update_issue" else "pull_number"
    with pytest.raises(InvalidRequest):
        work(tool, **REPOSITORY, **{number: 1})


def read_file(answer: dict[str, Any]) -> Any:
    return converse(work("get_file", **REPOSITORY, path="a"), ServiceResponse(200, {}, answer))[1]["content"]


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
def test_a_binary_file_has_no_content(answer: dict[str, Any]) -> None:
    assert read_file(answer) is None


def test_an_empty_file_has_an_empty_text() -> None:
    assert read_file({"type": "file", "encoding": "base64", "content": ""}) == ""


def test_a_folder_is_shown_as_the_list_of_its_names() -> None:
    entries = [{"name": "src", "type": "dir"}, {"name": "a.md", "type": "file"}]
    assert read_file({"type": "dir", "entries": entries}) == "- src/\n- a.md"


def test_several_files_become_one_commit_on_top_of_the_branch() -> None:
    files = [{"path": "a.md", "content": "# A"}, {"path": "docs/b.md", "content": "設計"}]
    sent, made = converse(
        work("commit_files", **REPOSITORY, files=files, message="Describe", branch="docs/all"),
        {"commit": {"sha": "head", "commit": {"tree": {"sha": "old tree"}}}},
        {"sha": "new tree"},
        {"sha": "new", "html_url": "https://x"},
        {"ref": "refs/heads/docs/all"},
    )
    assert sent[0].path == "/repos/octo/app/branches/docs/all"
    assert sent[1].json["base_tree"] == "old tree"
    assert [(one["path"], one["content"], one["mode"]) for one in sent[1].json["tree"]] == [
        ("a.md", "# A", "100644"),
        ("docs/b.md", "設計", "100644"),
    ]
    assert sent[2].json == {"message": "Describe", "tree": "new tree", "parents": ["head"]}
    # Without `force`, GitHub refuses a commit that would drop others of the branch.
    assert sent[3] == Call("PATCH", "/repos/octo/app/git/refs/heads/docs/all", json={"sha": "new"})
    assert made == {"sha": "new", "html_url": "https://x", "branch": "docs/all"}


def test_a_sub_issue_is_named_by_its_number_also_in_another_repository() -> None:
    arguments = {"issue_number": 1, "sub_issue": 7, "sub_repo": "docs"}
    sent, _ = converse(work("add_sub_issue", **REPOSITORY, **arguments), {"id": 700}, {"number": 7})
    assert [call.path for call in sent] == ["/repos/octo/docs/issues/7", "/repos/octo/app/issues/1/sub_issues"]
    assert sent[1].json == {"sub_issue_id": 700}


def test_a_release_is_read_by_its_tag_its_id_or_as_the_latest() -> None:
    paths = [work("get_release", **REPOSITORY, **by).path for by in ({"tag": "v1/2"}, {"release_id": 3}, {})]
    assert [path.removeprefix("/repos/octo/app/releases/") for path in paths] == ["tags/v1%2F2", "3", "latest"]
    with pytest.raises(InvalidRequest):
        work("get_release", **REPOSITORY, tag="v1", release_id=3)


def test_a_file_of_a_release_goes_to_the_origin_of_uploads_with_its_type() -> None:
    picture = FileContent(b"\x89PNG\xff", "image/png")
    call = work("upload_release_asset", **REPOSITORY, release_id=3, name="a b.png", content=picture)
    assert call == Call(
        "POST",
        "/repos/octo/app/releases/3/assets",
        {"name": "a b.png"},
        origin="https://uploads.github.com",
        content=picture,
    )
    assert call.origin in github.token_origins


def test_a_file_of_bytes_is_put_into_a_repository() -> None:
    arguments = {"path": "logo.png", "content": FileContent(b"\x89PNG\xff", "image/png"), "message": "Add the logo"}
    assert work("put_file", **REPOSITORY, **arguments).json["content"] == b64encode(b"\x89PNG\xff").decode()


# -- discussions, projects, plans ------------------------------------------------------------------------

CATEGORIES = {"id": "R1", "discussionCategories": {"nodes": [{"id": "C1", "name": "Ideas", "slug": "ideas"}]}}


def graphql(repository: Any) -> dict[str, Any]:
    return {"data": {"repository": repository}}


def test_a_discussion_begins_in_a_category_by_its_name() -> None:
    asked = work("create_discussion", **REPOSITORY, category="ideas", title="Darker", body="Please")
    made = {"data": {"createDiscussion": {"discussion": {"number": 5, "url": "https://x"}}}}
    sent, answer = converse(asked, graphql(CATEGORIES), made)
    assert answer == {"number": 5, "url": "https://x"}
    assert sent[0].prepares
    assert sent[1].json["variables"] == {"repository": "R1", "category": "C1", "title": "Darker", "body": "Please"}


def test_a_category_that_the_repository_does_not_have_is_refused_with_those_that_it_has() -> None:
    asked = work("create_discussion", **REPOSITORY, category="Polls", title="Darker", body="Please")
    with pytest.raises(InvalidRequest, match="Ideas"):
        converse(asked, graphql(CATEGORIES))


def test_discussions_are_read_page_by_page_up_to_the_limit() -> None:
    first = {"nodes": [{"number": n} for n in range(100)], "pageInfo": {"hasNextPage": True, "endCursor": "c2"}}
    last = {"nodes": [{"number": 100}], "pageInfo": {"hasNextPage": False, "endCursor": "c3"}}
    asked = work("list_discussions", **REPOSITORY, limit=120)
    sent, found = converse(asked, graphql({"discussions": first}), graphql({"discussions": last}))
    assert [call.json["variables"] for call in sent] == [
        {"owner": "octo", "repo": "app", "first": 100},
        {"owner": "octo", "repo": "app", "first": 20, "after": "c2"},
    ]
    assert len(found) == 101


def test_a_pull_request_is_put_on_a_project_by_its_own_id() -> None:
    asked = work("add_project_item", owner="octo-org", project_number=3, repo="app", issue_number=4)
    sent, _ = converse(asked, {"id": 11, "pull_request": {}}, {"id": 22}, {"id": 42})
    assert [call.path for call in sent] == [
        "/repos/octo-org/app/issues/4",
        "/repos/octo-org/app/pulls/4",
        "/orgs/octo-org/projectsV2/3/items",
    ]
    assert sent[2].json == {"type": "PullRequest", "id": 22}


def test_a_field_of_a_project_is_set_and_cleared() -> None:
    item = {"owner": "octocat", "owner_type": "users", "project_number": 3, "item_id": 42, "field_id": 7}
    call = work("update_project_item", **item, value="47fc9ee4")
    assert call.path == "/users/octocat/projectsV2/3/items/42"
    assert call.json == {"fields": [{"id": 7, "value": "47fc9ee4"}]}
    assert work("update_project_item", **item, value="none").json == {"fields": [{"id": 7, "value": None}]}


def test_the_runs_of_one_workflow_are_listed() -> None:
    assert next(work("list_runs", **REPOSITORY, workflow_id="ci.yml")).path == (
        "/repos/octo/app/actions/workflows/ci.yml/runs"
    )


def test_a_review_without_an_event_stays_pending() -> None:
    review = work("create_review", **REPOSITORY, pull_number=7, body="Later")
    assert review.json == {"body": "Later"}
    submitted = work("submit_review", **REPOSITORY, pull_number=7, review_id=80, event="APPROVE")
    assert (submitted.path, submitted.json) == ("/repos/octo/app/pulls/7/reviews/80/events", {"event": "APPROVE"})


def test_a_tag_names_the_head_of_the_default_branch_unless_told_otherwise() -> None:
    sent, _ = converse(work("create_tag", **REPOSITORY, tag="v1"), {"sha": "c1"}, {"ref": "refs/tags/v1"})
    assert sent[0].path == "/repos/octo/app/commits/HEAD"
    assert sent[1].json == {"ref": "refs/tags/v1", "sha": "c1"}
