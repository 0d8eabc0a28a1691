"""What every list shows: the page of an item, the id that the next call needs, and when the item came to be."""

from mcpist.tools.declare.tool import Tool
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each
from tests.services.contracts import CONTRACTED, Vendor, needs_descriptions

FILE = "tests/services/test_lists.py"
# A column that names an item for the next call.
NAMING = {"account_id", "id", "key", "login", "number", "path", "ref", "repo", "sha", "slug", "ts"}
# The fields that vendors give the time under at which an item came to be.
CREATION = ("created", "createdAt", "createdDateTime", "created_at", "created_time", "fields.created")

# Modules whose items have no page on the web.
PAGELESS = {"files", "microsoft_todo", "rag", "supabase"}
NO_PAGE = {
    "changes.list": "a change has no page of its own at a service",
    "confluence.list_labels": "a label has no page",
    "confluence.list_restrictions": "people and groups, not pages",
    "confluence.list_versions": "the API names no page of a version; get_page reads it",
    "confluence.search_users": "the API names no page of a person",
    "github.list_artifacts": "the API names no page of an artifact",
    "github.list_branches": "the API names no page of a branch",
    "github.list_labels": "the API names no page of a label",
    "github.list_project_fields": "a field has no page",
    "github.list_tags": "the API names no page of a tag",
    "google_calendar.list_calendars": "a calendar has no page",
    "jira.get_changelog": "a change is of the issue that was named",
    "jira.list_assignable_users": "the API names no page of a person",
    "jira.list_create_fields": "a field has no page",
    "jira.list_edit_fields": "a field has no page",
    "jira.list_fields": "a field has no page",
    "jira.list_issue_types": "a type has no page",
    "jira.list_link_types": "a type has no page",
    "jira.list_transition_fields": "a field has no page",
    "jira.list_transitions": "a transition has no page",
    "jira.list_queues": "the API names no page of a queue",
    "jira.list_watchers": "the API names no page of a person",
    "jira.search_users": "the API names no page of a person",
    "notion.list_blocks": "one text of all blocks",
    "notion.list_comments": "the API names no page of a comment",
    "notion.list_templates": "the API names no page of a template",
    "notion.list_users": "a person has no page",
    "slack.list_channels": "the address needs the workspace's domain, which only get_me reads",
    "slack.list_group_members": "ids alone; get_user shows who they are",
    "slack.list_groups": "a group has no page",
    "slack.list_members": "ids alone; get_user shows who they are",
    "slack.list_messages": "Slack makes an address by get_permalink alone",
    "slack.list_reminders": "a reminder has no page",
    "slack.list_replies": "Slack makes an address by get_permalink alone",
    "slack.list_scheduled_messages": "it is not sent yet",
    "slack.list_unread": "Slack makes an address by get_permalink alone",
    "slack.list_users": "the API names no page of a person",
}
NO_ID = {
    "files.search": "the file was named; a match is at an offset",
    "github.list_labels": "a label's name is its id",
    "github.list_commit_statuses": "no other tool takes one",
    "github.list_pull_files": "a file's name is its id",
    "jira.get_changelog": "a change has no id that any tool takes",
    "notion.list_blocks": "the text has the ids",
    "rag.list_tags": "a tag is its own id",
    "supabase.search_docs": "a page of the documentation is named by its address",
    "supabase.list_advisors": "advice is for people",
    "supabase.list_migrations": "no other tool takes one",
    "supabase.list_secrets": "no other tool takes one",
    "supabase.list_tables": "a table's name is its id",
}
NOT_NEW = {
    "github.list_releases": "GitHub means the commit's time; published is shown",
    "slack.list_pins": "the time of the message is shown",
    "slack.list_users": "only the profile's changes have a time",
}

LISTS = [
    tool
    for name in NAMES
    for tool in CATALOGUE.module(name).tools.values()
    if tool.reads and (tool.paging or tool.name.partition("_")[0] in {"list", "search"})
]
for_each_list = for_each("tool", {f"{tool.module}.{tool.name}": tool for tool in LISTS})


@for_each_list
def test_a_list_shows_the_address_that_people_open(tool: Tool) -> None:
    excused = tool.module in PAGELESS or _name(tool) in NO_PAGE
    assert ("url" in tool.shows.fields) or excused, f"show url, or say in NO_PAGE of {FILE} why there is none"


@for_each_list
def test_a_list_shows_the_id_that_the_next_call_needs(tool: Tool) -> None:
    is_named = NAMING & set(tool.shows.fields) or _name(tool) in NO_ID
    assert is_named, f"show one of {sorted(NAMING)}, or say in NO_ID of {FILE} why none is needed"


@needs_descriptions
@for_each("name", CONTRACTED)
def test_a_list_shows_when_an_item_was_created_where_the_vendor_says_it(name: str) -> None:
    vendor = Vendor(name)
    for tool in LISTS:
        if tool.module != name or _name(tool) in NOT_NEW:
            continue
        item = f"{tool.shows.rows}[0]." if tool.shows.rows else "[0]."
        known = [field for field in CREATION if _says(vendor, tool, f"{item}{field}")]
        paths = {path for column in tool.shows.columns for path in column.paths}
        is_shown = paths & {*CREATION, "row.created", "row.time", "commit.author.date"}
        assert not known or is_shown, f"{tool.name}: show {known}, or say in NOT_NEW of {FILE} why not"


@for_each_list
def test_no_list_is_excused_for_what_it_shows(tool: Tool) -> None:
    assert not ("url" in tool.shows.fields and _name(tool) in NO_PAGE), f"delete it from NO_PAGE of {FILE}"
    assert not (NAMING & set(tool.shows.fields) and _name(tool) in NO_ID), f"delete it from NO_ID of {FILE}"


def test_every_excuse_is_of_a_list() -> None:
    assert {*NO_PAGE, *NO_ID, *NOT_NEW} - set(map(_name, LISTS)) == set(), f"{FILE} excuses what is no list"


def _name(tool: Tool) -> str:
    return f"{tool.module}.{tool.name}"


def _says(vendor: Vendor, tool: Tool, path: str) -> bool:
    """Whether the description names a field; an item that it leaves open may have any, and says nothing."""
    return vendor.shows(tool.operation, path) and not vendor.shows(tool.operation, f"{path}-or-any-other")
