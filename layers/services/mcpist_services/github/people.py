"""The people of GitHub, who are everybody: by a public e-mail address or a full name, never by a part of one."""

from mcpist_services.people.directory import Directory, Use


def _use(person: str) -> Use:
    field = "email" if "@" in person else "fullname"
    quoted = person.replace('"', " ")
    return "search_users", {"q": f'{field}:"{quoted}" type:user', "limit": 5}


DIRECTORY = Directory(_use, id="login", names=("name", "login"), is_search=True)
