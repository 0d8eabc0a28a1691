"""Slack: methods in the place of paths."""

from collections.abc import Mapping
from typing import Any

from tests.services.descriptions.contract import DescribedCall
from tests.services.world import Rules, World

OWN = "U0OWN00000"
CHANNEL = {
    "name": "general",
    "is_archived": False,
    "is_member": True,
    "is_private": False,
    "last_read": "1500000000.000001",
}
PROFILE = {"status_text": "Away", "status_emoji": ":palm_tree:", "status_expiration": 0}


def _given(call: DescribedCall) -> dict[str, Any]:
    return dict(call.json) if call.json else {name: values[0] for name, values in call.query.items()}


def _message(world: World, channel: str, ts: str) -> Any:
    return world.item(f"/{channel}/messages/{ts}")


def _post(world: World, call: DescribedCall, _: str) -> Any:
    fields = _given(call)
    channel, ts = fields.pop("channel"), f"17000000{len(world.made):02}.000001"
    message = world.create(f"/{channel}/messages", fields | {"ts": ts}, ts)
    return {"ok": True, "channel": channel, "ts": ts, "message": message}


def _update(world: World, call: DescribedCall, _: str) -> Any:
    fields = _given(call)
    channel, ts = fields.pop("channel"), fields["ts"]
    _message(world, channel, ts)
    message = world.change(f"/{channel}/messages/{ts}", fields)
    return {"ok": True, "channel": channel, "ts": ts, "text": fields.get("text"), "message": message}


def _delete(world: World, call: DescribedCall, _: str) -> Any:
    world.remove(f"/{call.json['channel']}/messages/{call.json['ts']}")
    return {"ok": True}


def _replies(world: World, call: DescribedCall, _: str) -> Any:
    given = _given(call)
    found = _message(world, given["channel"], given["ts"])
    return {"ok": True, "messages": [found] if found else []}


def _schedule(world: World, call: DescribedCall, _: str) -> Any:
    fields = _given(call)
    made = world.create("/scheduled", fields | {"channel_id": fields["channel"]})
    return {"ok": True, "channel": fields["channel"], "scheduled_message_id": made["id"], "post_at": fields["post_at"]}


def _unschedule(world: World, call: DescribedCall, _: str) -> Any:
    world.remove(f"/scheduled/{call.json['scheduled_message_id']}")
    return {"ok": True}


def _channel(world: World, id_: str) -> Any:
    return world.item(f"/channels/{id_}")


def _info(world: World, call: DescribedCall, _: str) -> Any:
    return {"ok": True, "channel": _channel(world, call.query["channel"][0])}


def _setting(**fields: Any) -> Any:
    def change(world: World, call: DescribedCall, _: str) -> Any:
        given = _given(call)
        channel = _channel(world, given["channel"])
        new = {name: value(given) if callable(value) else value for name, value in fields.items()}
        return {"ok": True, "channel": world.change(f"/channels/{channel['id']}", new)}

    return change


def _create(world: World, call: DescribedCall, _: str) -> Any:
    id_ = f"C0NEW0000{len(world.made)}"
    return {
        "ok": True,
        "channel": world.create("/channels", CHANNEL | call.json | {"id": id_, "topic": {"value": ""}}, id_),
    }


def _members(world: World, call: DescribedCall, _: str) -> Any:
    given = _given(call)
    channel = _channel(world, given["channel"])
    members = channel["members"]
    if call.operation == "conversations.members":
        return {"ok": True, "members": members}
    if call.operation == "conversations.invite":
        members = [*members, *given["users"].split(",")]
    else:
        members = [one for one in members if one != given["user"]]
    return {"ok": True, "channel": world.change(f"/channels/{channel['id']}", {"members": members})}


def _react(world: World, call: DescribedCall, _: str) -> Any:
    given = call.json
    message = _message(world, given["channel"], given["timestamp"])
    others = [one for one in message.get("reactions", ()) if one["name"] != given["name"]]
    new = [{"name": given["name"]}] if call.operation == "reactions.add" else []
    world.change(f"/{given['channel']}/messages/{given['timestamp']}", {"reactions": others + new})
    return {"ok": True}


def _pin(world: World, call: DescribedCall, _: str) -> Any:
    place = f"/{call.json['channel']}/pins/{call.json['timestamp']}"
    if call.operation == "pins.add":
        world.create(place.rsplit("/", 1)[0], {"ts": call.json["timestamp"]}, call.json["timestamp"])
    else:
        world.remove(place)
    return {"ok": True}


def _pins(world: World, call: DescribedCall, _: str) -> Any:
    return {"ok": True, "items": [{"message": pin} for pin in world.within(f"/{call.query['channel'][0]}/pins")]}


def _remind(world: World, call: DescribedCall, _: str) -> Any:
    id_ = f"Rm{len(world.made)}NEW"
    return {"ok": True, "reminder": world.create("/reminders", call.json | {"id": id_}, id_)}


def _reminders(world: World, call: DescribedCall, _: str) -> Any:
    return {"ok": True, "reminders": world.within("/reminders")}


def _complete(world: World, call: DescribedCall, _: str) -> Any:
    world.change(f"/reminders/{call.json['reminder']}", {"state": "closed"})
    return {"ok": True}


def _status(world: World, call: DescribedCall, _: str) -> Any:
    return {"ok": True, "profile": world.change(f"/profiles/{OWN}", call.json["profile"])}


def _share(world: World, call: DescribedCall, _: str) -> Any:
    (file,) = call.json["files"]
    return {"ok": True, "files": [world.create("/files", file, file["id"])]}


def _file(world: World, call: DescribedCall, _: str) -> Any:
    return {"ok": True, "file": world.item(f"/files/{call.query['file'][0]}")}


def _drop(world: World, call: DescribedCall, _: str) -> Any:
    world.remove(f"/files/{call.json['file']}")
    return {"ok": True}


class Slack(Rules):
    """Its rules."""

    volatile = frozenset({"id", "ts", "client_msg_id", "date", "blocks"})  # of which the text says the same
    answers = {
        "chat.postMessage": _post,
        "chat.update": _update,
        "chat.delete": _delete,
        "conversations.replies": _replies,
        "chat.scheduleMessage": _schedule,
        "chat.deleteScheduledMessage": _unschedule,
        "chat.scheduledMessages.list": lambda world, *_: {"ok": True, "scheduled_messages": world.within("/scheduled")},
        "conversations.info": _info,
        "conversations.create": _create,
        "conversations.setTopic": _setting(topic=lambda given: {"value": given["topic"]}),
        "conversations.archive": _setting(is_archived=True),
        "conversations.unarchive": _setting(is_archived=False),
        "conversations.join": _setting(is_member=True),
        "conversations.leave": _setting(is_member=False),
        "conversations.mark": _setting(last_read=lambda given: given["ts"]),
        "conversations.members": _members,
        "conversations.invite": _members,
        "conversations.kick": _members,
        "reactions.add": _react,
        "reactions.remove": _react,
        "pins.add": _pin,
        "pins.remove": _pin,
        "pins.list": _pins,
        "reminders.add": _remind,
        "reminders.list": _reminders,
        "reminders.complete": _complete,
        "auth.test": lambda *_: {"ok": True, "user_id": OWN, "user": "uma"},
        "users.info": lambda world, call, _: {
            "ok": True,
            "user": {"profile": world.item(f"/profiles/{call.query['user'][0]}")},
        },
        "users.profile.set": _status,
        "files.completeUploadExternal": _share,
        "files.info": _file,
        "files.delete": _drop,
    }

    def seeded(self, world: World, place: str, item: Any) -> Any:
        kind, id_ = place.split("/")[-2:]
        match kind:
            case "messages":
                return {"ts": id_, "text": "It *works*"}
            case "channels":
                return CHANNEL | {"id": id_, "topic": {"value": "Release"}, "members": ["U0EXAMPLE0"]}
            case "profiles":
                return PROFILE
            case "pins":
                return {"ts": id_}
            case _:
                return item

    def prepare(self, world: World, tool: str, arguments: Mapping[str, Any]) -> None:
        channel = arguments.get("channel")
        match tool:
            case "join_channel":
                world.item(f"/channels/{channel}")
                world.change(f"/channels/{channel}", {"is_member": False})
            case "unarchive_channel":
                world.item(f"/channels/{channel}")
                world.change(f"/channels/{channel}", {"is_archived": True})
            case "remove_from_channel":
                world.item(f"/channels/{channel}")
                world.change(f"/channels/{channel}", {"members": ["U0EXAMPLE0", arguments["user"]]})
            case "remove_reaction":
                ts, name = arguments["ts"], arguments["emoji"]
                world.item(f"/{channel}/messages/{ts}")
                world.change(f"/{channel}/messages/{ts}", {"reactions": [{"name": name}]})
            case "unpin_message":
                world.item(f"/{channel}/pins/{arguments['ts']}")
            case "set_status":
                world.item(f"/profiles/{OWN}")
