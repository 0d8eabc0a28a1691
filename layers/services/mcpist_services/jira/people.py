"""The people of Jira, who are those of Confluence too."""

from mcpist_services.people.directory import Directory

DIRECTORY = Directory(
    lambda person: ("search_users", {"query": person}),
    id="account_id",
    is_search=True,
    is_person=lambda row: row["active"] is not False,
)
