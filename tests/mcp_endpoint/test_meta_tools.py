"""What the three meta-tools cost a client's context."""

import json

from infra.local.login import LocalLogin
from mcp_endpoint.meta_tools import declare
from mcpist import directory
from mcpist.caller import Subject
from tests.peers.tokens import o200k

# One line a module, as the vendors would be described.
OTHERS = {
    "confluence": "Confluence Cloud: spaces, pages, comments, labels, attachments.",
    "google_calendar": "Google Calendar: calendars, events, free and busy times.",
    "jira": "Jira Cloud: issues, comments, worklogs, boards, sprints.",
    "microsoft_todo": "Microsoft To Do: lists, tasks, checklists, links.",
    "notion": "Notion: pages, databases, blocks, comments, users.",
    "serena.code": "Symbols of a code base: find, read, edit.",
    "serena.fs": "Files of a project: list, read, search.",
    "supabase": "Supabase: projects, databases, functions, branches, logs.",
}


def test_the_three_meta_tools_with_ten_modules_stay_under_900_tokens(organization: str, login: LocalLogin) -> None:
    tools = declare(directory.identify(Subject(login.issuer, "uma"), organization=organization))
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    listed[0]["description"] += "".join(f"\n- {name}: {says}" for name, says in OTHERS.items())
    assert listed[0]["description"].count("\n- ") == 10
    (tokens,) = o200k(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))
    assert tokens < 900
