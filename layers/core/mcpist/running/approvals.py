"""Approvals: a destructive use waits until a person in the console has decided about it, and then runs once.

Items of the ledger's table, whose values are stored as those of questions are:

    pk                            sk             value
    --                            --             -----
    ORGANIZATION#ID               approval       the whole approval, with the arguments and the result
    ORGANIZATION#approvals#USER   DIGEST         the id of the user's latest approval of this request
    ORGANIZATION#approvals        TIME#ID        what a list needs, without arguments

Every transition is one transaction with its audit row. An approval belongs to one request: its digest covers the user,
the canonical arguments, the accounts that act, and whose approval is needed. A batch gets the id of its approval.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcpist.audit import record as audit
from mcpist.aws.attributes import Item, decode, encode, pack
from mcpist.aws.table import ledger_table
from mcpist.batch_id import is_batch_id, new_batch_id
from mcpist.caller import ApprovalMode, Caller, Subject
from mcpist.errors import (
    ApprovalByProgram,
    ApprovalDecided,
    ApprovalNotFound,
    InvalidRequest,
    McpistError,
    SecondPersonRequired,
    TooManyApprovals,
)
from mcpist.files import access
from mcpist.running.approval_record import OPEN_STATES, page_url
from mcpist.running.approval_record import Approval as Approval
from mcpist.running.approval_record import ApprovalState as ApprovalState
from mcpist.running.destructive_use import DestructiveUse
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions

APPROVAL_KEY = "approval"
DAY_SECONDS = 86_400
KEPT_SECONDS = 8 * DAY_SECONDS
MAX_STORED_BYTES = 250_000  # of the request, and of the result; a larger result is a file
MAX_WAITING = 50  # of one user's requests: each notifies people
MAX_REFUSAL_CHARACTERS = 500
RESULT_TYPE = "application/json"


def require_approval(
    permissions: Permissions,
    mode: ApprovalMode,
    subject: Sequence[Any],
    request: Mapping[str, Any],
    uses: Sequence[DestructiveUse],
    describe: Callable[[], Sequence[DestructiveUse]],
    *,
    named: str = "",
) -> Approval:
    """Return the approval that permits a request, given and not used yet, or used by the request that names it.

    Without one it is asked for, and ApprovalPending raised; ApprovalDeclined if a person has said no. `uses` say what
    is destroyed and by which accounts, `describe` returns the same with previews, for the person.
    """
    caller = permissions.caller
    digest = _digest_of(caller, mode, subject, uses)
    found = find_own(caller, named) if named else None
    if found is None or found.digest != digest:
        found, named = _latest(caller, digest), ""
    if found is not None and (found.is_open or found.is_declined or named):
        if found.state in {"approved", "used"}:
            return found
        raise found.refusal()
    made = _ask(permissions, mode, digest, request, describe(), replaced=found)
    raise made.refusal()


def find_own(caller: Caller, approval: str) -> Approval | None:
    """Return an approval of the caller's own request; None if there is none with this id."""
    found = _load(caller.organization, approval)
    return found if found and found.requested_by == caller.user else None


def find(permissions: Permissions, approval: str) -> Approval:
    """Return an approval of the caller's request, or one that the caller may decide about; else ApprovalNotFound."""
    caller = permissions.caller
    found = _load(caller.organization, approval)
    if found is None or not (found.requested_by == caller.user or may_decide(permissions, found.tools)):
        raise ApprovalNotFound(approval_id=approval)
    return found


def may_decide(permissions: Permissions, tools: Iterable[str]) -> bool:
    """Whether a person may decide about uses of these tools: as an administrator, or by roles that have them all."""
    if permissions.caller.system_role == "admin":
        return True
    modules = permissions.catalogue.index.modules

    def has(name: str) -> bool:
        module, tool = permissions.split_name(name)
        entry = modules[module].tools.get(tool) if module in modules else None
        return entry is not None and permissions.allows(entry)

    return all(map(has, tools))


def list_own(caller: Caller) -> list[Approval]:
    """Return the approvals of the caller's own requests, the newest first."""
    listed = ledger_table().query(_own_key(caller.organization, caller.user))
    keys = [(f"{caller.organization}#{item['id']}", APPROVAL_KEY) for item in listed]
    found = [_current(caller.organization, decode(Approval, item)) for item in ledger_table().get_many(keys)]
    return sorted(found, key=lambda one: -one.requested_at)


def list_waiting(permissions: Permissions) -> list[Item]:
    """Return the facts of the approvals that wait for a decision which this person may make, the oldest first."""
    caller, now = permissions.caller, time.time()
    items = _list_open(caller.organization)
    expire(caller.organization, [item["approval_id"] for item in items if item["until"] <= now])
    return [
        item
        for item in items
        if item["state"] == "waiting"
        and item["until"] > now
        and not (item["mode"] == "second_person" and item["requested_by"] == caller.user)
        and (item["requested_by"] == caller.user or may_decide(permissions, item["tools"]))
    ]


def find_due(organization: str) -> list[str]:
    """Return the ids of the approvals whose time has ended, but not yet with an audit row."""
    return [item["approval_id"] for item in _list_open(organization) if item["until"] <= time.time()]


def expire(organization: str, approvals: Iterable[str]) -> dict[str, int]:
    """End approvals whose time is over, each with its audit row, and return how many there are now."""
    found = [_load(organization, approval) for approval in approvals]
    return {"expired": sum(one is not None and one.state == "expired" for one in found)}


def approve(permissions: Permissions, approval: str) -> Approval:
    """Approve a request as a person who is signed in to the console; ApprovalByProgram with any other proof."""
    caller, found = permissions.caller, find(permissions, approval)
    facts = {"approval_id": found.id, "url": page_url(found.id)}
    try:
        # A token may be in a program's hands; only the console's session shows that a person looks at the page.
        if caller.proof is None or caller.proof.kind != "session":
            raise ApprovalByProgram(name=found.id, **facts)
        if found.mode == "second_person" and found.requested_by == caller.user:
            raise SecondPersonRequired(name=found.id, **facts)
    except McpistError as error:
        with audit.best_effort():
            audit.write_row(audit.approval_row(caller, "approve", found.id, outcome=error.code))
        raise
    now = int(time.time())
    return _move(
        caller, found, "approve", state="approved", decided_by=caller.user, decided_at=now, until=now + DAY_SECONDS
    )


def decline(permissions: Permissions, approval: str, reason: str) -> Approval:
    """Decline a request, and say why; the same request is answered with it until the time for a decision ends."""
    caller, found = permissions.caller, find(permissions, approval)
    reason = reason.strip()
    if not 0 < len(reason) <= MAX_REFUSAL_CHARACTERS:
        raise InvalidRequest(field="reason", problem=f"say why, in 1 to {MAX_REFUSAL_CHARACTERS} characters")
    now = int(time.time())
    return _move(caller, found, "decline", state="declined", decided_by=caller.user, decided_at=now, reason=reason)


def cancel(caller: Caller, approval: str) -> Approval:
    """Cancel the caller's own request, whether it waits or was approved."""
    found = find_own(caller, approval)
    if found is None:
        raise ApprovalNotFound(approval_id=approval)
    return _move(caller, found, "cancel", states=("waiting", "approved"), state="cancelled")


def use(caller: Caller, approval: Approval) -> Approval:
    """Use an approval for the one run that it permits; ApprovalDecided if another request has used it."""
    found = _load(caller.organization, approval.id) or approval
    return _move(caller, found, "use", states=("approved",), state="used", used_at=int(time.time()))


def finish(caller: Caller, approval: Approval, outcome: dict[str, Any]) -> None:
    """Store the outcome of the call that an approval permitted."""
    packed = pack(outcome)
    if len(packed) > MAX_STORED_BYTES:
        content = json.dumps(outcome, ensure_ascii=False).encode(errors="replace")
        packed = pack({"file": access.put(caller, content, RESULT_TYPE).sha256})
    ledger_table().set(f"{caller.organization}#{approval.id}", APPROVAL_KEY, {"outcome": packed})


def outcome_of(caller: Caller, approval: Approval) -> dict[str, Any]:
    """Return the outcome of a call: `result` or `error`; empty if it has not ended."""
    file = approval.outcome.get("file")
    loaded: dict[str, Any] = json.loads(access.load(caller, file)[1]) if file else approval.outcome
    return loaded


def _digest_of(caller: Caller, mode: ApprovalMode, subject: Sequence[Any], uses: Sequence[DestructiveUse]) -> str:
    shown = [replace(one, preview=None).as_dict() for one in uses]
    parts = [caller.organization, caller.user, mode, list(subject), shown]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _ask(
    permissions: Permissions,
    mode: ApprovalMode,
    digest: str,
    request: Mapping[str, Any],
    uses: Sequence[DestructiveUse],
    *,
    replaced: Approval | None,
) -> Approval:
    """Store a new approval and tell people; of two equal requests at once, both get the first one's."""
    caller = permissions.caller
    _check_bounds(caller, request, uses)
    now = int(time.time())
    made = Approval(
        id=new_batch_id(),
        digest=digest,
        mode=mode,
        requested_by=caller.user,
        requested_at=now,
        until=now + DAY_SECONDS,
        uses=tuple(uses),
        request=dict(request),
        client=caller.client.name,
    )
    row = _row(caller, made, "request")
    own = {"pk": _own_key(caller.organization, caller.user), "sk": digest, "id": made.id, "requested_at": now}
    is_first = ledger_table().transact(
        [_item(caller.organization, made), _listed(caller.organization, made)],
        [],
        guard=own | {"expires_at": now + KEPT_SECONDS},
        condition="#id = :replaced" if replaced else "attribute_not_exists(#id) OR #expires_at <= :now",
        values={":replaced": replaced.id} if replaced else {":now": now},
        new_items={settings().audit_table: [row]},
    )
    if not is_first:
        return _latest(caller, digest) or made
    from mcpist.running import notification  # the few that ask for an approval wait for it

    notification.send(permissions, notification.approval_waiting(made.summary()))
    return made


def _check_bounds(caller: Caller, request: Mapping[str, Any], uses: Sequence[DestructiveUse]) -> None:
    if len(pack([dict(request), [one.as_dict() for one in uses]])) > MAX_STORED_BYTES:
        raise InvalidRequest(field="params", problem="a request that must be approved cannot be so large")
    waiting = _list_open(caller.organization, requested_by=caller.user, state="waiting")
    if sum(item["until"] > time.time() for item in waiting) >= MAX_WAITING:
        raise TooManyApprovals(limit=MAX_WAITING, retry_after=3600)


def _list_open(organization: str, **filters: str) -> list[Item]:
    since = f"{int(time.time()) - KEPT_SECONDS:011}", "9" * 12
    listed, _ = ledger_table().query_page("pk", f"{organization}#approvals", since, filters=filters)
    return [item for item in listed if item["state"] in OPEN_STATES]


def _latest(caller: Caller, digest: str) -> Approval | None:
    """Return the latest approval of a request of this caller."""
    item = ledger_table().get(_own_key(caller.organization, caller.user), digest)
    return _load(caller.organization, item["id"]) if item else None


def _load(organization: str, approval: str) -> Approval | None:
    # An id may be any text of a client: no other item of the table must be read by it.
    item = ledger_table().get(f"{organization}#{approval}", APPROVAL_KEY) if is_batch_id(approval) else None
    return _current(organization, decode(Approval, item)) if item else None


def _current(organization: str, found: Approval) -> Approval:
    """Return an approval as it is now: one whose time is over expires, with a row, when anybody looks at it."""
    if not found.is_open or found.until > time.time():
        return found
    expired = replace(found, state="expired")
    requester = Caller(organization, found.requested_by, Subject("", ""), "user", ())
    _write(requester, found, expired, "expire")
    return expired


def _move(
    caller: Caller,
    found: Approval,
    action: str,
    *,
    states: Sequence[ApprovalState] = ("waiting",),
    **changes: Any,
) -> Approval:
    """Change the state of an approval with an audit row; ApprovalDecided if it is in none of the states for that."""
    changed = replace(found, **changes)
    if found.state not in states or not _write(caller, found, changed, action):
        latest = _load(caller.organization, found.id) or found
        raise ApprovalDecided(what=f"the approval {found.id}", approval_id=found.id, state=latest.state)
    return changed


def _write(caller: Caller, before: Approval, after: Approval, action: str) -> bool:
    """Write a transition, its audit row and the list's item; whether nobody else was faster."""
    return ledger_table().transact(
        [_listed(caller.organization, after)],
        [],
        guard=_item(caller.organization, after),
        condition="#state = :state",
        values={":state": before.state},
        new_items={settings().audit_table: [_row(caller, after, action)]},
    )


def _row(caller: Caller, approval: Approval, action: str) -> Item:
    names = ("state", "requested_by", "mode", "tools")
    return audit.approval_row(caller, action, approval.id, after={name: getattr(approval, name) for name in names})


def _item(organization: str, approval: Approval) -> Item:
    keys = {"pk": f"{organization}#{approval.id}", "sk": APPROVAL_KEY}
    return keys | encode(approval) | {"expires_at": approval.until + KEPT_SECONDS}


def _listed(organization: str, approval: Approval) -> Item:
    # Nobody lists what has ended: the table may then remove the item.
    ends = approval.until + KEPT_SECONDS if approval.is_open else int(time.time())
    keys = {"pk": f"{organization}#approvals", "sk": f"{approval.requested_at:011}#{approval.id}"}
    return keys | approval.summary() | {"expires_at": ends}


def _own_key(organization: str, user: str) -> str:
    return f"{organization}#approvals#{user}"
