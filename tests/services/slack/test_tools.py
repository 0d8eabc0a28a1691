"""What Slack's tools ask step by step: names as ids, links, threads, uploads, and lists over pages."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest, ScopeMissing, ToolExecutionError
from mcpist.files.content import FileContent
from mcpist.render.answer import compact
from mcpist.render.shows import project
from mcpist.tools.declare.call import Call, PartialList
from mcpist_services.slack.directory import MAX_DIRECTORY_PAGE, MAX_DIRECTORY_PAGES, MAX_NAMED_AUTHORS
from mcpist_services.slack.tools import slack
from tests.services.answers.slack import CHANNEL, MESSAGE, NEXT, TS, USER
from tests.services.conversation import converse, work_of

work = partial(work_of, slack)
LINK = "https://acme.slack.com/archives/C0123ABCD45/p1512085950000216"
LARGE = {"limit": MAX_DIRECTORY_PAGE}
HISTORY = {"ok": True, "messages": [MESSAGE], "has_more": False}
AUTHOR = {"ok": True, "user": USER}


def people(*users: dict[str, Any], more: bool = False) -> dict[str, Any]:
    return {"ok": True, "members": list(users), **(NEXT if more else {"response_metadata": {"next_cursor": ""}})}


def channels(*found: dict[str, Any], more: bool = False) -> dict[str, Any]:
    return {"ok": True, "channels": list(found), **(NEXT if more else {})}


# -- people whom a message names -----------------------------------------------------------------------

BOB = {"id": "U0BOB00000", "name": "bob", "profile": {"display_name": "bob.k"}}


def test_a_name_in_a_message_mentions_the_person_who_has_it() -> None:
    asked = work("send_message", channel="C0123ABCD45", markdown="**@aiko** and @bob.k.\n\n- @Nobody, `@aiko`, a@bob")
    sent, _ = converse(asked, people(USER, BOB), {"ok": True})
    assert [call.path for call in sent] == ["/users.list", "/chat.postMessage"]
    assert sent[1].json["text"] == "<@U012A3CDE> and <@U0BOB00000>.\n\n- @Nobody, `@aiko`, a@bob"
    mentioned = [part["user_id"] for part in sent[1].json["blocks"][0]["elements"][0]["elements"] if "user_id" in part]
    assert mentioned == ["U012A3CDE", "U0BOB00000"]


@pytest.mark.parametrize("tool", ["update_message", "schedule_message"])
def test_a_changed_and_a_later_message_mention_too(tool: str) -> None:
    more = {"ts": TS} if tool == "update_message" else {"post_at": "2026-01-31T09:00:00Z"}
    sent, _ = converse(work(tool, channel="C0123ABCD45", markdown="@aiko", **more), people(USER), {"ok": True})
    assert sent[1].json["text"] == "<@U012A3CDE>"


@pytest.mark.parametrize("text", ["@channel @here @everyone", "`@aiko`", "[@aiko](https://example.com/@aiko)", "a@b"])
def test_no_text_mentions_everybody_and_no_code_or_link_anybody(text: str) -> None:
    posted = work("send_message", channel="C0123ABCD45", markdown=text)
    assert isinstance(posted, Call)
    assert "<!" not in posted.json["text"]
    assert "<@" not in posted.json["text"]


def test_a_name_that_several_people_have_is_refused_before_anything_is_sent() -> None:
    twin = USER | {"id": "U0TWIN0000", "name": "aiko2"}
    asked = work("send_message", channel="C0123ABCD45", markdown="@Aiko?")
    with pytest.raises(InvalidRequest, match="U0TWIN0000"):
        converse(asked, people(USER | {"name": "asato"}, twin), {"ok": True})


def test_names_stay_text_where_the_account_may_not_read_people() -> None:
    refused = ScopeMissing(service="slack", scope="users:read", url="https://x")
    sent, _ = converse(work("send_message", channel="C0123ABCD45", markdown="@aiko"), refused, {"ok": True})
    assert sent[1].json["text"] == "@aiko"


# -- channels by name ---------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["C0123ABCD45", "D0123ABCD45", LINK, "https://app.slack.com/client/T1/C0123ABCD45"])
def test_a_channel_by_its_id_or_link_costs_one_request(channel: str) -> None:
    call = work("get_channel", channel=channel)
    assert isinstance(call, Call)
    assert call.query["channel"] in {"C0123ABCD45", "D0123ABCD45"}


@pytest.mark.parametrize("name", ["#general", "general", "#General"])
def test_a_name_is_looked_up_among_the_person_s_channels_first(name: str) -> None:
    sent, _ = converse(work("set_topic", channel=name, topic="x"), channels(CHANNEL), {"ok": True})
    assert [call.path for call in sent] == ["/users.conversations", "/conversations.setTopic"]
    assert sent[0].query == {**LARGE, "types": "public_channel,private_channel", "exclude_archived": True}
    assert sent[1].json == {"channel": "C0123ABCD45", "topic": "x"}


def test_a_channel_that_the_person_is_not_in_is_found_among_all() -> None:
    other = {"id": "C9999999", "name": "other"}
    answers = channels(other), channels(other, more=True), channels(CHANNEL, more=True), {"ok": True}
    sent, _ = converse(work("join_channel", channel="#general"), *answers)
    assert [call.path for call in sent] == ["/users.conversations", *["/conversations.list"] * 2, "/conversations.join"]
    assert sent[2].query["cursor"] == "bmV4dA=="


def test_a_name_that_is_nowhere_is_refused_after_a_bounded_number_of_pages() -> None:
    endless = [channels({"id": "C9999999", "name": "other"}, more=True)] * (2 * MAX_DIRECTORY_PAGES)
    calls = work("archive_channel", channel="#nowhere")
    with pytest.raises(InvalidRequest, match="list_channels"):
        converse(calls, *endless, {"ok": True})


def test_a_list_begins_after_the_lookup_of_its_channel_and_pages_on_by_id() -> None:
    first = {**HISTORY, "has_more": True, **NEXT}
    sent, found = converse(
        work("list_messages", channel="#general", limit=2, page_size=1), channels(CHANNEL), first, HISTORY, AUTHOR
    )
    assert [call.path for call in sent] == ["/users.conversations", *["/conversations.history"] * 2, "/users.info"]
    assert sent[1].query == {"channel": "C0123ABCD45", "limit": 1}
    assert sent[2].query == {"channel": "C0123ABCD45", "limit": 1, "cursor": "bmV4dA=="}
    assert len(found["messages"]) == 2


# -- people by name -----------------------------------------------------------------------------------


@pytest.mark.parametrize("person", ["@aiko", "aiko", "@Aiko", "Aiko Sato"])
def test_a_person_is_found_by_handle_display_name_or_full_name(person: str) -> None:
    sent, _ = converse(work("get_user", user=person), people(USER, more=True), people(), {"ok": True, "user": USER})
    assert [call.path for call in sent] == ["/users.list", "/users.list", "/users.info"]
    assert sent[2].query == {"user": "U012A3CDE"}


def test_an_e_mail_address_costs_one_request_more() -> None:
    sent, _ = converse(work("get_user", user="aiko@example.com"), {"ok": True, "user": USER}, {"ok": True})
    assert sent[0] == Call("GET", "/users.lookupByEmail", {"email": "aiko@example.com"})


def test_a_name_of_several_people_is_refused_with_their_ids_unless_one_has_it_as_handle() -> None:
    twin = USER | {"id": "U2222222", "name": "aiko2"}
    with pytest.raises(InvalidRequest, match="U012A3CDE, U2222222"):
        converse(work("get_user", user="Aiko Sato"), people(USER, twin), {})
    sent, _ = converse(work("get_user", user="@aiko"), people(twin, USER), {"ok": True})
    assert sent[-1].query == {"user": "U012A3CDE"}


def test_people_who_left_are_not_meant() -> None:
    with pytest.raises(InvalidRequest, match="list_users"):
        converse(work("get_user", user="@aiko"), people(USER | {"deleted": True}), {})


@pytest.mark.parametrize("channel", ["@aiko", "U012A3CDE", "aiko@example.com"])
def test_a_message_to_a_person_opens_the_conversation(channel: str) -> None:
    found = {"@aiko": [people(USER)], "aiko@example.com": [{"ok": True, "user": USER}]}.get(channel, [])
    opened = {"ok": True, "channel": {"id": "D0123ABCD45"}}
    sent, _ = converse(work("send_message", channel=channel, markdown="Hi"), *found, opened, {"ok": True})
    assert sent[-2] == Call("POST", "/conversations.open", json={"users": "U012A3CDE"}, prepares=True)
    assert sent[-1].json["channel"] == "D0123ABCD45"


def test_reading_the_messages_with_a_person_opens_nothing() -> None:
    found = channels({"id": "D0123ABCD45", "user": "U012A3CDE"})
    sent, _ = converse(work("list_messages", channel="@aiko"), people(USER), found, HISTORY, AUTHOR)
    assert [call.method for call in sent] == ["GET"] * 4
    assert sent[1].query == {**LARGE, "types": "im"}
    with pytest.raises(InvalidRequest, match="send_message"):
        converse(work("list_messages", channel="@aiko"), people(USER), channels(), HISTORY)


def test_several_people_are_invited_by_their_names() -> None:
    names = ["@aiko", "U2222222"]
    sent, _ = converse(work("invite_to_channel", channel="C0123ABCD45", users=names), people(USER), {"ok": True})
    assert sent[-1].json == {"channel": "C0123ABCD45", "users": "U012A3CDE,U2222222"}


# -- messages by link ---------------------------------------------------------------------------------


def test_a_link_names_the_channel_and_the_message() -> None:
    call = work("add_reaction", channel=LINK, ts=LINK, emoji=":thumbsup:")
    assert call == Call("POST", "/reactions.add", json={"channel": "C0123ABCD45", "name": "thumbsup", "timestamp": TS})


def test_the_link_to_a_reply_names_the_reply_or_its_thread() -> None:
    link = f"{LINK}?thread_ts=1512085900.000100&cid=C0123ABCD45"
    assert slack.tools["delete_message"].validate({"channel": link, "ts": link})["ts"] == TS
    assert slack.tools["list_replies"].validate({"channel": link, "ts": link})["ts"] == "1512085900.000100"


@pytest.mark.parametrize(
    "ts", ["soon", "1512085950", "https://slack.example.com/archives/C1/p1512085950000216", f"{TS}\n"]
)
def test_no_other_text_is_a_message(ts: str) -> None:
    with pytest.raises(InvalidArguments):
        work("delete_message", channel="C0123ABCD45", ts=ts)


# -- writing and reading --------------------------------------------------------------------------------


def test_a_reply_may_be_shown_in_the_channel() -> None:
    sent = work("send_message", channel="C0123ABCD45", markdown="Hi", thread_ts=TS, also_to_channel=True)
    assert isinstance(sent, Call)
    assert (sent.json["thread_ts"], sent.json["reply_broadcast"]) == (TS, True)


def test_messages_are_shown_as_markdown_with_their_time() -> None:
    _, found = converse(work("list_messages", channel="C0123ABCD45"), HISTORY, AUTHOR)
    shown = compact(found, slack.tools["list_messages"].shows)
    assert "It **works**, [@U012A3CDE](mention:U012A3CDE)" in shown
    assert "2017-11-30T23:52:30Z" in shown


def names(*answers: Any, messages: list[Any]) -> tuple[list[str], list[Any]]:
    """The people that are asked for after some messages, and the names that are shown."""
    history = {"ok": True, "messages": messages}
    sent, found = converse(work("list_messages", channel="C0123ABCD45", limit=500), history, *answers)
    asked = [str(call.query["user"]) for call in sent if call.path == "/users.info"]
    return asked, [row["name"] for row in project(found, slack.tools["list_messages"].shows)]


def test_messages_show_who_wrote_them_and_each_person_is_asked_for_once() -> None:
    other = {"ok": True, "user": {"id": "U2", "profile": {"display_name": "", "real_name": "Ben"}}}
    profile = {"user": "U3", "user_profile": {"display_name": "Cleo"}}
    written = [MESSAGE | one for one in ({"user": "U1"}, {"user": "U2"}, {"user": "U1"}, profile)]
    bot = {"ts": TS, "bot_id": "B1", "username": "deploys"}
    assert names(AUTHOR, other, messages=[*written, bot]) == (
        ["U1", "U2"],
        ["Aiko", "Ben", "Aiko", "Cleo", "deploys"],
    )


def test_without_the_right_to_read_people_their_ids_stay() -> None:
    refusal = ScopeMissing(service="slack", scope="users:read", url="https://mcp.example.com/connect/slack")
    assert names(refusal, messages=[MESSAGE | {"user": "U1", "username": None}]) == (["U1"], [None])


def test_names_of_a_bounded_number_of_people_are_read() -> None:
    many = [MESSAGE | {"user": f"U{number}", "username": None} for number in range(MAX_NAMED_AUTHORS + 5)]
    asked, shown = names(*[AUTHOR] * MAX_NAMED_AUTHORS, messages=many)
    assert (len(asked), shown.count(None)) == (MAX_NAMED_AUTHORS, 5)


def test_search_and_files_page_by_number() -> None:
    page = {"ok": True, "messages": {"matches": [MESSAGE], "paging": {"count": 1, "page": 1, "pages": 2}}}
    last = {"ok": True, "messages": {"matches": [MESSAGE], "paging": {"count": 1, "page": 2, "pages": 2}}}
    sent, found = converse(work("search_messages", query="x", limit=2, page_size=1), page, last)
    assert [call.query.get("page") for call in sent] == [None, 2]
    assert not isinstance(found, PartialList)


def test_what_is_pinned_is_a_message_or_a_file() -> None:
    items = [{"type": "message", "message": MESSAGE}, {"type": "file", "file": {"id": "F1"}}]
    _, found = converse(work("list_pins", channel="C0123ABCD45"), {"ok": True, "items": items})
    assert [(one.get("ts"), one["file"]) for one in found] == [(TS, None), (None, "F1")]


def test_a_file_is_uploaded_beside_the_api_and_then_shared() -> None:
    place = {"ok": True, "upload_url": "https://files.slack.com/upload/v1/abc?d=1", "file_id": "F1"}
    done = {"ok": True, "files": [{"id": "F1", "title": "a.csv"}]}
    sent, found = converse(
        work("upload_file", channel="C0123ABCD45", filename="a.csv", content="文", comment="**New**"), place, "OK", done
    )
    assert sent[0].query == {"filename": "a.csv", "length": 3}
    assert (sent[1].origin, sent[1].path) == ("https://files.slack.com", "/upload/v1/abc?d=1")
    assert sent[1].content == FileContent("文".encode(), "text/plain")
    assert sent[2].json == {
        "files": [{"id": "F1", "title": "a.csv"}],
        "channel_id": "C0123ABCD45",
        "initial_comment": "*New*",
    }
    assert found == done["files"]


def test_nothing_is_shared_after_an_upload_that_failed() -> None:
    place = {"ok": True, "upload_url": "https://files.slack.com/upload/v1/abc", "file_id": "F1"}
    failed = ToolExecutionError(service="slack", http_status=500, problem="no")
    with pytest.raises(ToolExecutionError):
        converse(work("upload_file", channel="C0123ABCD45", filename="a.csv", content="x"), place, failed)


def test_a_file_is_downloaded_from_its_own_origin_with_the_token() -> None:
    url = "https://files.slack.com/files-pri/T1-F1/download/a.png"
    kept = {"file": {"path": "files/acme/uma/1", "size_bytes": 9}, "preview": None}
    file = {"name": "a.png", "size": 9, "url_private_download": url}
    sent, found = converse(work("download_file", file_id="F1"), {"ok": True, "file": file}, kept)
    assert sent[1] == Call("GET", "/files-pri/T1-F1/download/a.png", origin="https://files.slack.com", download=True)
    assert sent[1].origin in slack.token_origins
    assert found == {"name": "a.png", **kept}
    with pytest.raises(ToolExecutionError):  # a page of Slack's login
        converse(work("download_file", file_id="F1"), {"ok": True, "file": file | {"size": 10}}, kept)


def test_a_file_that_slack_does_not_keep_is_not_downloaded() -> None:
    outside = {"name": "Plan", "size": 0, "permalink": "https://docs.example.com/1"}
    with pytest.raises(InvalidRequest, match=r"https://docs\.example\.com/1"):
        converse(work("download_file", file_id="F1"), {"ok": True, "file": outside})


def test_a_message_is_scheduled_for_a_moment_with_its_offset() -> None:
    sent = work("schedule_message", channel="C0123ABCD45", markdown="Hi", post_at="2026-01-31T09:00:00+09:00")
    assert isinstance(sent, Call)
    assert sent.json["post_at"] == 1_769_817_600


def test_a_channel_s_name_is_one_that_slack_takes() -> None:
    for name in ("Release", "a b", "a.b", "", "x" * 81):
        with pytest.raises(InvalidArguments):
            work("create_channel", name=name)
    assert isinstance(work("create_channel", name="リリース-2026"), Call)


# -- status, groups, what is unread ----------------------------------------------------------------------

GROUPS = {"ok": True, "usergroups": [{"id": "S0614TZR7", "handle": "admins", "name": "Admins", "date_create": 0}]}


def test_a_status_has_an_emoji_and_an_end_and_can_be_cleared() -> None:
    call = work("set_status", text="Lunch", emoji="pizza", until="2026-01-31T09:00:00Z")
    assert call.json == {
        "profile": {"status_text": "Lunch", "status_emoji": ":pizza:", "status_expiration": 1769850000}
    }
    cleared = {"profile": {"status_text": "", "status_emoji": "", "status_expiration": 0}}
    assert work("set_status", text="").json == cleared


def test_the_people_of_a_group_are_found_by_its_handle() -> None:
    sent, found = converse(work("list_group_members", group="@Admins"), GROUPS, {"ok": True, "users": ["U1", "U2"]})
    assert sent[1].query == {"usergroup": "S0614TZR7"}
    assert found == [{"id": "U1"}, {"id": "U2"}]
    with pytest.raises(InvalidRequest, match="list_groups"):
        converse(work("list_group_members", group="@nobody"), GROUPS)


def test_unread_conversations_are_those_with_messages_after_the_last_that_was_read() -> None:
    read = {"ok": True, "channel": CHANNEL | {"last_read": "1512085950.000000"}}
    quiet = {"ok": True, "messages": [], "has_more": False}
    news = {"ok": True, "messages": [MESSAGE, MESSAGE], "has_more": True}
    two = channels(CHANNEL, {"id": "D0123ABCD45", "user": "U012A3CDE"})
    sent, found = converse(work("list_unread"), two, read, news, read, quiet)
    assert sent[2].query == {"channel": "C0123ABCD45", "oldest": "1512085950.000000", "limit": 100}
    assert [(one["id"], one["name"], one["unread"], one["more"]) for one in found] == [
        ("C0123ABCD45", "general", 2, True)
    ]


def test_a_conversation_is_read_up_to_its_newest_message() -> None:
    sent, _ = converse(work("mark_read", channel="C0123ABCD45"), HISTORY, {"ok": True})
    assert sent[1].json == {"channel": "C0123ABCD45", "ts": TS}
