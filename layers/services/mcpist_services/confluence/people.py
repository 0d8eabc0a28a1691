"""The people of Confluence, by their names; those of the same site in Jira have the same ids."""

from mcpist_services.people.directory import Directory

DIRECTORY = Directory(lambda person: ("search_users", {"name": person}), id="account_id", is_search=True)
