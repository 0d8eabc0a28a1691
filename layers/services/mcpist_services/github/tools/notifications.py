"""The account's notifications."""

from typing import Annotated

from mcpist.render.shows import DONE, shows, value_at
from mcpist.tools.declare.call import Call, given, path
from mcpist_services.github.module import Number, Time, github, link_paging, repository_of

NOTIFICATIONS = shows(
    "id",
    "reason",
    "subject.type as type",
    "subject.title as title",
    "repository.owner.login as owner",
    "repository.name as repo",
    "number",
    "unread",
    "updated_at as updated",
    "web_url|repository.html_url as url",
)
WITH_NUMBER = link_paging(lambda notification, _: repository_of(value_at(notification, "subject.url")))


@github.lists(
    NOTIFICATIONS, "activity/list-notifications-for-authenticated-user", scopes=("notifications",), paging=WITH_NUMBER
)
def list_notifications(
    all: Annotated[bool, "Include those that you have read"] = False,  # noqa: A002
    participating: Annotated[bool, "Only where you take part or are mentioned"] = False,
    since: Time | None = None,
    before: Time | None = None,
) -> Call:
    """List your notifications, the newest first."""
    return Call("GET", "/notifications", given(all=all, participating=participating, since=since, before=before))


@github.writes(
    DONE,
    "activity/mark-thread-as-read",
    scopes=("notifications",),
    idempotent=True,
    irreversible="GitHub marks no notification as unread",
)
def mark_notification_read(thread_id: Annotated[Number, "The id that list_notifications shows"]) -> Call:
    """Mark a notification as read."""
    return Call("PATCH", path("/notifications/threads/{thread_id}", thread_id=thread_id))
