"""Addresses that people paste from their browser, where a tool asks for an id."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest

from mcpist.errors import InvalidArguments
from mcpist.tools.declare.tool import Tool
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each

SITE = "https://acme.atlassian.net"
PAGE, BLOCK = "59833787" * 4, "c02fc1d3" * 4
EVENT = urlsafe_b64encode(b"7k3f9q0m2a ada@m").decode().rstrip("=")
GITHUB, SLACK, MINE = "https://github.com/octo/app", "https://acme.slack.com", {"owner": "octo", "repo": "app"}
REF = "abcdefghijklmnopqrst"
LIST, TASK = "AAMkADIyAAAAABrJAAA=", "AlMKXwbQAAAJws6wcAAAA="
CALENDAR = urlsafe_b64encode(b"team@group.calendar.google.com").decode().rstrip("=")


@for_each(
    ("tool", "field", "pasted", "value"),
    [
        ("jira.get_issue", "issue_key", f"{SITE}/browse/ENG-42", "ENG-42"),
        ("jira.get_issue", "issue_key", f"{SITE}/browse/ENG-42?focusedCommentId=7", "ENG-42"),
        ("jira.get_issue", "issue_key", f"{SITE}/jira/software/projects/ENG/boards/3?selectedIssue=ENG-42", "ENG-42"),
        ("jira.get_issue", "issue_key", f"{SITE}/issues/?filter=7&selectedIssue=ENG-42", "ENG-42"),
        ("jira.get_issue", "issue_key", f"{SITE}/jira/core/projects/ENG/issues/ENG-42?jql=x", "ENG-42"),
        ("jira.get_issue", "issue_key", f"{SITE}/jira/servicedesk/projects/HELP/queues/custom/5/HELP-7", "HELP-7"),
        ("jira.get_project", "project", f"{SITE}/jira/software/projects/ENG/boards/3", "ENG"),
        ("jira.get_project", "project", f"{SITE}/browse/ENG", "ENG"),
        ("jira.list_sprints", "board_id", f"{SITE}/secure/RapidBoard.jspa?projectKey=ENG&rapidView=3", 3),
        ("jira.list_sprint_issues", "sprint_id", f"{SITE}/jira/software/projects/ENG/boards/3?sprint=12", 12),
        ("jira.search", "jql", f"{SITE}/issues/?jql=project%20%3D%20ENG", "project = ENG"),
        ("jira.list_sprints", "board_id", f"{SITE}/jira/software/c/projects/ENG/boards/3/backlog", 3),
        ("confluence.get_page", "page_id", f"{SITE}/wiki/spaces/ENG/pages/65551/Release+plan", "65551"),
        ("confluence.get_page", "page_id", f"{SITE}/wiki/spaces/ENG/pages/edit-v2/65551", "65551"),
        ("confluence.get_page", "page_id", f"{SITE}/wiki/pages/viewpage.action?pageId=65551", "65551"),
        ("confluence.get_page", "page_id", f"{SITE}/wiki/x/EAg", "2064"),
        ("confluence.get_page", "page_id", f"{SITE}/wiki/x/DwABAg", "33619983"),
        ("confluence.get_blog_post", "blog_post_id", f"{SITE}/wiki/spaces/ENG/blog/2026/01/31/65551/Moved", "65551"),
        ("notion.get_page", "page_id", f"https://www.notion.so/acme/Tasks-{BLOCK}?v={BLOCK}&p={PAGE}&pm=s", PAGE),
        ("notion.query_view", "view_id", f"https://www.notion.so/acme/{PAGE}?v={BLOCK}", BLOCK),
        ("notion.get_page", "page_id", f"https://www.notion.so/acme/Release-plan-{PAGE}?pvs=4", PAGE),
        ("notion.get_page", "page_id", f"https://acme.notion.site/{PAGE}", PAGE),
        ("notion.delete_block", "block_id", f"https://www.notion.so/acme/Plan-{PAGE}?pvs=4#{BLOCK}", BLOCK),
        ("notion.get_database", "database_id", f"https://www.notion.so/acme/{PAGE}?v={BLOCK}", PAGE),
        ("google_calendar.get_event", "event_id", f"https://www.google.com/calendar/event?eid={EVENT}", "7k3f9q0m2a"),
        ("github.get_repo", "repo", "octo/app", "app"),
        ("github.get_repo", "repo", "git@github.com:octo/app.git", "app"),
        ("github.get_issue", "issue_number", "#4", 4),
        ("github.get_issue", "issue_number", "octo/app#4", 4),
        ("github.get_file", "path", f"{GITHUB}/blob/main/docs/a%20b.md?plain=1#L10-L20", "docs/a b.md"),
        ("github.get_file", "path", "https://raw.githubusercontent.com/octo/app/main/docs/a.md", "docs/a.md"),
        ("github.get_commit", "ref", f"{GITHUB}/pull/7/commits/6dcb09b5b578", "6dcb09b5b578"),
        ("github.get_commit", "ref", f"{GITHUB}/tree/fix/login", "fix/login"),
        ("github.get_job_logs", "job_id", f"{GITHUB}/actions/runs/30/job/42?pr=7", 42),
        ("github.get_run", "run_id", f"{GITHUB}/actions/runs/30/job/42", 30),
        ("github.get_release", "tag", f"{GITHUB}/releases/tag/v1.2.0", "v1.2.0"),
        ("github.create_issue", "milestone", f"{GITHUB}/milestone/3", 3),
        ("slack.list_messages", "channel", f"{SLACK}/archives/C0123ABCD45/p1512085950000216", "C0123ABCD45"),
        ("slack.list_messages", "channel", "<#C0123ABCD45|general>", "C0123ABCD45"),
        ("slack.get_user", "user", "<@U0123ABCD45>", "U0123ABCD45"),
        ("slack.get_file", "file_id", f"{SLACK}/files/U061F7AUR/F0S43PZDF/report.csv", "F0S43PZDF"),
        ("supabase.get_project", "project_ref", f"https://supabase.com/dashboard/project/{REF}/editor/1", REF),
        ("supabase.get_project", "project_ref", f"https://{REF}.supabase.co/rest/v1/", REF),
        ("microsoft_todo.get_list", "list_id", f"https://to-do.office.com/tasks/{LIST}", LIST),
        ("microsoft_todo.get_task", "task_id", f"https://to-do.live.com/tasks/id/{TASK}/details", TASK),
        (
            "google_calendar.get_calendar",
            "calendar_id",
            f"https://calendar.google.com/calendar/u/0?cid={CALENDAR}",
            "team@group.calendar.google.com",
        ),
        (
            "google_calendar.get_event",
            "event_id",
            f"https://calendar.google.com/calendar/u/0/r/eventedit/{EVENT}?sf=true",
            "7k3f9q0m2a",
        ),
    ],
)
def test_the_address_of_a_page_gives_its_id(tool: str, field: str, pasted: str, value: str | int) -> None:
    found = tool_of(tool)
    others = {"owner": "octo", "repo": "app", "list_id": LIST, "title": "x"}
    known = {name: other for name, other in others.items() if name in found.input_schema["properties"]}
    assert found.validate(known | {field: pasted})[field] == value


def tool_of(name: str) -> Tool:
    module, _, tool = name.partition(".")
    return CATALOGUE.module(module).tools[tool]


@for_each(
    ("tool", "arguments", "field"),
    [
        ("github.update_issue", MINE | {"issue_number": "https://github.com/x/y/issues/4"}, "issue_number"),
        ("github.update_issue", MINE | {"issue_number": "x/y#4"}, "issue_number"),
        ("github.get_issue", {"owner": "octo", "repo": f"{GITHUB}/issues/4", "issue_number": 5}, "repo"),
        ("github.get_repo", {"owner": "octo", "repo": "other/app"}, "repo"),
        ("github.put_file", MINE | {"path": f"{GITHUB}/blob/main/a.md", "branch": "dev"}, "path"),
        ("github.get_job_logs", MINE | {"job_id": f"{GITHUB}/actions/runs/30"}, "job_id"),
        ("github.get_issue", MINE | {"issue_number": f"{GITHUB}/actions/runs/30"}, "issue_number"),
        (
            "github.add_sub_issue",
            MINE | {"issue_number": 4, "sub_issue": "https://github.com/x/y/issues/4"},
            "sub_issue",
        ),
        (
            "slack.delete_message",
            {"channel": "C0123ABCD45", "ts": f"{SLACK}/archives/C9999ABCD45/p1512085950000216"},
            "ts",
        ),
        ("slack.delete_message", {"channel": "#general", "ts": f"{SLACK}/archives/C99999999/p1512085950000216"}, "ts"),
        (
            "slack.add_reaction",
            {"channel": f"{SLACK}/archives/C99999999/p1512085950000216", "ts": "1512085950.000217", "emoji": "+1"},
            "channel",
        ),
        (
            "jira.delete_comment",
            {"issue_key": "ENG-1", "comment_id": f"{SITE}/browse/ENG-42?focusedCommentId=7"},
            "comment_id",
        ),
        (
            "confluence.get_page",
            {"page_id": f"{SITE}/wiki/spaces/ENG/pages/1/x?pageVersion=3", "version": 4},
            "page_id",
        ),
        ("confluence.delete_page", {"page_id": f"{SITE}/wiki/spaces/ENG/blog/2026/01/31/65551/Moved"}, "page_id"),
        ("notion.get_page", {"page_id": f"https://www.notion.so/acme/{PAGE}?v={BLOCK}"}, "page_id"),
        (
            "google_calendar.delete_event",
            {"event_id": f"https://www.google.com/calendar/event?eid={EVENT}", "calendar_id": "bob@example.com"},
            "event_id",
        ),
        (
            "supabase.get_function",
            {
                "project_ref": "zzzzzzzzzzzzzzzzzzzz",
                "function_slug": f"https://supabase.com/dashboard/project/{REF}/functions/mail",
            },
            "function_slug",
        ),
    ],
)
def test_an_address_that_leads_elsewhere_than_another_argument_is_refused(
    tool: str, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidArguments) as refused:
        tool_of(tool).validate(all_required(tool_of(tool)) | arguments)
    assert refused.value.details["field"] == field
    with pytest.raises(InvalidArguments):
        tool_of(tool).check(all_required(tool_of(tool)) | arguments, ())


def all_required(tool: Tool) -> dict[str, Any]:
    return dict(tool.examples[0]["parameters"])


@for_each(
    ("tool", "arguments", "read"),
    [
        ("github.get_issue", {"issue_number": f"{GITHUB}/issues/4"}, MINE | {"issue_number": 4}),
        (
            "github.get_issue",
            {"owner": "Octo", "repo": "APP", "issue_number": f"{GITHUB}/issues/4"},
            {"issue_number": 4},
        ),
        ("github.get_file", {"path": f"{GITHUB}/blob/v2/a.md"}, MINE | {"path": "a.md", "ref": "v2"}),
        ("github.list_commits", {"path": f"{GITHUB}/blob/v2/a.md"}, {"path": "a.md", "sha": "v2"}),
        (
            "github.add_sub_issue",
            MINE | {"issue_number": 4, "sub_issue": "https://github.com/octo/docs/issues/5"},
            {"repo": "app", "sub_issue": 5, "sub_repo": "docs"},
        ),
        (
            "slack.list_replies",
            {"channel": f"{SLACK}/archives/C99999999/p1512085950000216?thread_ts=1512085950.000100"},
            {"channel": "C99999999", "ts": "1512085950.000100"},
        ),
        (
            "slack.send_message",
            {"channel": f"{SLACK}/archives/C99999999/p1512085950000216", "markdown": "x"},
            {"thread_ts": None},
        ),
        (
            "google_calendar.get_event",
            {"event_id": f"https://www.google.com/calendar/event?eid={EVENT}"},
            {"event_id": "7k3f9q0m2a", "calendar_id": "ada@gmail.com"},
        ),
        ("confluence.get_page", {"page_id": f"{SITE}/wiki/spaces/ENG/pages/1/x?pageVersion=3"}, {"version": 3}),
        ("jira.update_issue", {"issue_key": "ENG-1", "parent": f"{SITE}/browse/ENG-7"}, {"parent": "ENG-7"}),
    ],
)
def test_an_address_gives_the_arguments_that_are_left_out(
    tool: str, arguments: dict[str, Any], read: dict[str, Any]
) -> None:
    validated = tool_of(tool).validate(arguments)
    assert {name: validated[name] for name in read} == read


def test_an_address_waits_for_a_value_that_is_not_known_yet() -> None:
    tool_of("github.get_issue").check({"issue_number": f"{GITHUB}/issues/4"}, ("owner", "repo"))


@pytest.mark.parametrize(
    ("tool", "field", "pasted"),
    [
        ("jira.get_issue", "issue_key", "https://example.com/browse/ENG-42"),
        ("confluence.get_page", "page_id", f"{SITE}/browse/ENG-42"),
        ("notion.get_page", "page_id", f"https://notion.so.example.com/{PAGE}"),
    ],
)
def test_the_address_of_another_page_is_refused(tool: str, field: str, pasted: str) -> None:
    with pytest.raises(InvalidArguments):
        tool_of(tool).validate({field: pasted})
