"""People."""

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Work
from mcpist_services.slack.directory import for_person
from mcpist_services.slack.module import Person, slack

USER = ("id", "name", "real_name", "profile.display_name as display_name", "profile.title as title")
MORE = ("is_bot as bot", "deleted")
ONE = shows(
    "user.id as id",
    "user.name as name",
    "user.real_name|user.profile.real_name as real_name",
    "user.profile.display_name as display_name",
    "user.profile.email as email",
    "user.profile.title as title",
    "user.profile.status_text as status",
    "user.tz as timezone",
    "user.deleted as deleted",
)


@slack.lists(shows(*USER, "profile.email as email", *MORE, rows="members"), "users.list", scopes=("users:read",))
def list_users() -> Call:
    """List the people and bots of the workspace."""
    return Call("GET", "/users.list")


@slack.reads(ONE, "users.info", scopes=("users:read",))
def get_user(user: Person) -> Work:
    """Read a person: name, e-mail address, status and time zone."""
    return for_person(user, lambda id_: Call("GET", "/users.info", {"user": id_}))


@slack.reads(shows("user_id as id", "user as name", "team as workspace", "team_id", "url"), "auth.test")
def get_me() -> Call:
    """Read your own id and the workspace."""
    return Call("GET", "/auth.test")
