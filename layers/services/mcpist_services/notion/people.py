"""The people of a Notion workspace; Notion searches none, so that the whole list is read."""

from mcpist_services.people.directory import Directory

DIRECTORY = Directory(lambda _: ("list_users", {"fetch_all": True}), is_person=lambda row: row["type"] == "person")
