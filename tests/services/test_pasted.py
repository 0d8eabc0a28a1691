"""Addresses that people paste from their browser, where a tool asks for an id."""

from base64 import urlsafe_b64encode

import pytest

from mcpist.errors import InvalidArguments
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each

SITE = "https://acme.atlassian.net"
PAGE, BLOCK = "59833787" * 4, "c02fc1d3" * 4
EVENT = urlsafe_b64encode(b"7k3f9q0m2a ada@example.com").decode().rstrip("=")


@for_each(
    ("tool", "field", "pasted", "value"),
    [
        ("jira.get_issue", "issue_key", f"{SITE}/browse/ENG-42", "ENG-42"),
        ("jira.get_issue", "issue_key", f"{SITE}/browse/ENG-42?focusedCommentId=7", "ENG-42"),
        ("jira.get_issue", "issue_key", f"{SITE}/jira/software/projects/ENG/boards/3?selectedIssue=ENG-42", "ENG-42"),
        ("jira.get_issue", "issue_key", f"{SITE}/issues/?filter=7&selectedIssue=ENG-42", "ENG-42"),
        ("jira.get_project", "project", f"{SITE}/jira/software/projects/ENG/boards/3", "ENG"),
        ("jira.list_sprints", "board_id", f"{SITE}/jira/software/c/projects/ENG/boards/3/backlog", 3),
        ("confluence.get_page", "page_id", f"{SITE}/wiki/spaces/ENG/pages/65551/Release+plan", "65551"),
        ("confluence.get_page", "page_id", f"{SITE}/wiki/spaces/ENG/pages/edit-v2/65551", "65551"),
        ("confluence.get_page", "page_id", f"{SITE}/wiki/pages/viewpage.action?pageId=65551", "65551"),
        ("notion.get_page", "page_id", f"https://www.notion.so/acme/Release-plan-{PAGE}?pvs=4", PAGE),
        ("notion.get_page", "page_id", f"https://acme.notion.site/{PAGE}", PAGE),
        ("notion.delete_block", "block_id", f"https://www.notion.so/acme/Plan-{PAGE}?pvs=4#{BLOCK}", BLOCK),
        ("notion.get_database", "database_id", f"https://www.notion.so/acme/{PAGE}?v={BLOCK}", PAGE),
        ("google_calendar.get_event", "event_id", f"https://www.google.com/calendar/event?eid={EVENT}", "7k3f9q0m2a"),
        (
            "google_calendar.get_event",
            "event_id",
            f"https://calendar.google.com/calendar/u/0/r/eventedit/{EVENT}?sf=true",
            "7k3f9q0m2a",
        ),
    ],
)
def test_the_address_of_a_page_gives_its_id(tool: str, field: str, pasted: str, value: str | int) -> None:
    module, _, name = tool.partition(".")
    assert CATALOGUE.module(module).tools[name].validate({field: pasted})[field] == value


@pytest.mark.parametrize(
    ("tool", "field", "pasted"),
    [
        ("jira.get_issue", "issue_key", "https://example.com/browse/ENG-42"),
        ("confluence.get_page", "page_id", f"{SITE}/browse/ENG-42"),
        ("notion.get_page", "page_id", f"https://notion.so.example.com/{PAGE}"),
    ],
)
def test_the_address_of_another_page_is_refused(tool: str, field: str, pasted: str) -> None:
    module, _, name = tool.partition(".")
    with pytest.raises(InvalidArguments):
        CATALOGUE.module(module).tools[name].validate({field: pasted})
