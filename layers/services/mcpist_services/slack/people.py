"""The people of a Slack workspace. Slack searches by e-mail address only: names are searched in the whole list."""

from mcpist_services.people.directory import Directory, Use


def _use(person: str) -> Use:
    return ("get_user", {"user": person}) if "@" in person else ("list_users", {"fetch_all": True})


DIRECTORY = Directory(
    _use,
    names=("real_name", "display_name", "name"),
    is_person=lambda row: not row.get("deleted") and not row.get("bot"),
)
