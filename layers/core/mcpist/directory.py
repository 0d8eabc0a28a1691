"""The directory: organizations, their users, roles and memberships.

Items (`pk`, `sk`):
    org#ACME, org                    the organization: name, disabled tool masks
    org#ACME, role#ROLE              a role
    org#ACME, user#USER              a user: name, system_role, locale, subjects
    org#ACME, member#ROLE#USER       one user's role, unique per pair, with its position in the user's order
    subject#ISSUER#SUB, org#ACME     the access that all of these add up to: what one Query reads for a request

The access items are derived: `publish` writes a user's anew from the items above, after every change.
"""

import time
from collections.abc import Collection, Iterable, Sequence

from mcpist.caller import Caller, Proof, Role, Subject, SystemRole
from mcpist.errors import AuthorizationError, InvalidRequest, MembershipRequired
from mcpist.settings import settings
from mcpist.stores import Item, Table

CACHE_SECONDS = 5
MOST_CACHED_SUBJECTS = 1_000

_cache: dict[Subject, tuple[float, list[Item]]] = {}


def identify(
    subject: Subject,
    *,
    organization: str = "",
    roles: Collection[str] = (),
    proof: Proof | None = None,
    fresh: bool = False,
) -> Caller:
    """The Caller that a subject is, in the roles named, or else in all that it has, in their order.

    MembershipRequired where it is a member of no such organization, or must name one of several;
    AuthorizationError for a role that it does not have.
    """
    accesses = _accesses(subject, fresh=fresh)
    chosen = [access for access in accesses if not organization or access["organization"] == organization]
    if not chosen:
        raise MembershipRequired(name=organization or "any organization")
    if len(chosen) > 1:
        raise MembershipRequired(name="just one organization")
    access = chosen[0]
    held = tuple(map(Role.from_item, access["roles"]))
    for name in set(roles) - {role.name for role in held}:
        raise AuthorizationError(name=f"role {name}")
    return Caller(
        organization=access["organization"],
        user=access["user"],
        subject=subject,
        system_role=access["system_role"],
        roles=tuple(role for role in held if not roles or role.name in roles),
        disabled=tuple(access["disabled"]),
        locale=access["locale"],
        proof=proof,
    )


def put_organization(organization: str, *, name: str, disabled: Sequence[str] = ()) -> None:
    """Create or change an organization; `disabled` are masks of tools switched off for everybody."""
    _check_id("organization", organization)
    _table().put({"pk": f"org#{organization}", "sk": "org", "name": name, "disabled": list(disabled)})
    _publish_all(organization)


def put_role(organization: str, role: Role) -> None:
    """Create or change a role."""
    _check_id("role", role.name)
    _table().put({"pk": f"org#{organization}", "sk": f"role#{role.name}", **role.as_item()})
    for user in members(organization, role.name):
        publish(organization, user)


def put_user(
    organization: str,
    user: str,
    *,
    name: str,
    subject: Subject,
    system_role: SystemRole = "user",
    roles: Iterable[str] = (),
    locale: str = "en",
) -> None:
    """Create or change a user, and set its roles in their order."""
    _check_id("user", user)
    _table().put(
        {
            "pk": f"org#{organization}",
            "sk": f"user#{user}",
            "user": user,
            "name": name,
            "system_role": system_role,
            "locale": locale,
            "issuer": subject.issuer,
            "sub": subject.sub,
        }
    )
    wanted = {f"member#{role}#{user}": position for position, role in enumerate(roles)}
    for item in _table().query(f"org#{organization}", "member#"):
        if item["user"] == user and item["sk"] not in wanted:
            _table().delete(item["pk"], item["sk"])
    for key, position in wanted.items():
        role = key.split("#")[1]
        _table().put({"pk": f"org#{organization}", "sk": key, "user": user, "role": role, "position": position})
    publish(organization, user)


def members(organization: str, role: str) -> list[str]:
    """The users that have a role."""
    return [item["user"] for item in _table().query(f"org#{organization}", f"member#{role}#")]


def publish(organization: str, user: str) -> None:
    """Write a user's access item anew from the organization, its roles and the user's memberships."""
    items = {item["sk"]: item for item in _table().query(f"org#{organization}")}
    profile = items[f"user#{user}"]
    memberships = [item for key, item in items.items() if key.startswith("member#") and item["user"] == user]
    memberships.sort(key=lambda item: item["position"])
    _table().put(
        {
            "pk": f"subject#{profile['issuer']}#{profile['sub']}",
            "sk": f"org#{organization}",
            "organization": organization,
            "user": user,
            "system_role": profile["system_role"],
            "locale": profile["locale"],
            "disabled": items.get("org", {}).get("disabled", []),
            "roles": [_role_of(items[f"role#{item['role']}"]) for item in memberships],
        }
    )


def _publish_all(organization: str) -> None:
    for item in _table().query(f"org#{organization}", "user#"):
        publish(organization, item["user"])


def _role_of(item: Item) -> Item:
    return Role.from_item(item).as_item()


def _accesses(subject: Subject, *, fresh: bool) -> list[Item]:
    """The subject's access items, from memory for some seconds."""
    known = _cache.get(subject)
    if known and not fresh and time.monotonic() - known[0] < CACHE_SECONDS:
        return known[1]
    accesses = _table().query(f"subject#{subject.issuer}#{subject.sub}")
    if len(_cache) >= MOST_CACHED_SUBJECTS:
        _cache.clear()
    _cache[subject] = (time.monotonic(), accesses)
    return accesses


def _table() -> Table:
    return Table(settings().directory_table, "directory")


def _check_id(field: str, value: str) -> None:
    """Ids are parts of keys."""
    if not value or "#" in value or "/" in value:
        raise InvalidRequest(field=field, problem="an id has at least one character, and no # or /")
