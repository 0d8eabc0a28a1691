"""The directory: organizations, their users, roles and memberships.

Items (`pk`, `sk`):
    org#ACME, org                    the organization: name, disabled tool masks
    org#ACME, role#ROLE              a role
    org#ACME, user#USER              a user: name, system_role, locale, subjects
    org#ACME, member#ROLE#USER       one user's role, unique per pair, with its position in the user's order
    subject#ISSUER#SUB, org#ACME     the access that all of these add up to: what one Query reads for a request

The access items are derived: `publish` writes them anew from the items above, after every change.
"""

import time
from collections.abc import Collection, Iterable, Sequence

from mcpist.caller import Caller, Proof, Role, Subject, SystemRole
from mcpist.errors import AuthorizationError, InvalidRequest, Locale, MembershipRequired, OrganizationUnclear
from mcpist.settings import settings
from mcpist.stores import Item, Table, refused

CACHE_SECONDS = 5
MOST_CACHED_SUBJECTS = 1_000

_cache: dict[Subject, tuple[float, list[Item]]] = {}


def identify(
    subject: Subject,
    *,
    organization: str = "",
    roles: Collection[str] = (),
    proof: Proof | None = None,
) -> Caller:
    """The Caller that a subject is, in the roles named, or else in all that it has, in their order.

    MembershipRequired where it is a member of no such organization, OrganizationUnclear where it must name one of
    several; AuthorizationError for a role that it does not have.
    """
    accesses = _accesses(subject)
    chosen = [access for access in accesses if not organization or access["organization"] == organization]
    if not chosen:
        raise MembershipRequired(organization=organization)
    if len(chosen) > 1:
        raise OrganizationUnclear(known=", ".join(access["organization"] for access in chosen))
    access = chosen[0]
    held = tuple(map(Role.from_item, access["roles"]))
    for name in roles:
        if all(role.name != name for role in held):
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
    publish(organization)


def put_role(organization: str, role: Role) -> None:
    """Create or change a role."""
    _check_id("role", role.name)
    _table().put({"pk": f"org#{organization}", "sk": f"role#{role.name}", **role.as_item()})
    publish(organization, role=role.name)


def put_user(
    organization: str,
    user: str,
    *,
    name: str,
    subject: Subject,
    system_role: SystemRole = "user",
    roles: Iterable[str] = (),
    locale: Locale = "en",
) -> None:
    """Create or change a user, and set its roles in their order.

    InvalidRequest, with nothing changed, for a role that does not exist and a subject that is another user.
    """
    _check_id("user", user)
    items = _items(organization)
    profile: Item = {
        "pk": f"org#{organization}",
        "sk": f"user#{user}",
        "user": user,
        "name": name,
        "system_role": system_role,
        "locale": locale,
        "issuer": subject.issuer,
        "sub": subject.sub,
    }
    before = items.get(profile["sk"], profile)
    wanted = {f"member#{role}#{user}": role for role in roles}
    _check_roles(wanted.values(), items)
    _bind(organization, profile)
    _table().put(profile)
    for item in _memberships(items, user):
        if item["sk"] not in wanted:
            _table().delete(item["pk"], item["sk"])
    for position, (key, role) in enumerate(wanted.items()):
        _table().put({"pk": profile["pk"], "sk": key, "user": user, "role": role, "position": position})
    if _access_key(organization, before) != _access_key(organization, profile):
        _table().delete(*_access_key(organization, before))
    publish(organization, user)


def role_names(organization: str) -> list[str]:
    """The names of an organization's roles."""
    return [item["name"] for item in _table().query(f"org#{organization}", "role#")]


def publish(organization: str, user: str = "", *, role: str = "") -> None:
    """Write anew the access items of one user, or of all who have a role, or of all.

    What they were made from is read again afterwards, until it stands still: so whoever writes an item last has seen
    every change, however many administrators work at once.
    """
    before: dict[str, Item] = {}
    while before != (items := _items(organization)):
        profiles = [item for key, item in items.items() if key.startswith("user#") and user in {"", item["user"]}]
        for profile in profiles:
            if not role or f"member#{role}#{profile['user']}" in items:
                _rebind(_access(organization, profile, items))
        before = items


def _items(organization: str) -> dict[str, Item]:
    """An organization's items by their sort keys."""
    return {item["sk"]: item for item in _table().query(f"org#{organization}")}


def _memberships(items: dict[str, Item], user: str) -> list[Item]:
    """A user's memberships in the user's order."""
    found = [item for key, item in items.items() if key.startswith("member#") and item["user"] == user]
    return sorted(found, key=lambda item: item["position"])


def _access(organization: str, profile: Item, items: dict[str, Item]) -> Item:
    """What a user's subject may do, in one item."""
    pk, sk = _access_key(organization, profile)
    memberships = _memberships(items, profile["user"])
    return {
        "pk": pk,
        "sk": sk,
        "organization": organization,
        "user": profile["user"],
        "system_role": profile["system_role"],
        "locale": profile["locale"],
        "disabled": items.get("org", {}).get("disabled", []),
        "roles": [Role.from_item(items[f"role#{item['role']}"]).as_item() for item in memberships],
    }


def _bind(organization: str, profile: Item) -> None:
    """Make the profile's subject this user of the organization, so far without a role; refuse another user's."""
    access = _access(organization, profile, {})
    try:
        _table().put(access, condition="attribute_not_exists(pk)")
    except Exception as error:
        if not refused(error):
            raise
        bound = _table().get(access["pk"], access["sk"])
        if bound and bound["user"] != profile["user"]:
            problem = f"it is another user of {organization} already"
            raise InvalidRequest(field="subject", problem=problem) from None


def _rebind(access: Item) -> None:
    """Replace an access item; one that was removed meanwhile stays removed."""
    try:
        _table().put(access, condition="#user = :user", values={":user": access["user"]})
    except Exception as error:
        if not refused(error):
            raise


def _access_key(organization: str, profile: Item) -> tuple[str, str]:
    return f"subject#{profile['issuer']}#{profile['sub']}", f"org#{organization}"


def _check_roles(roles: Iterable[str], items: dict[str, Item]) -> None:
    for role in roles:
        if f"role#{role}" not in items:
            known = ", ".join(item["name"] for key, item in items.items() if key.startswith("role#")) or "none"
            raise InvalidRequest(field="roles", problem=f'there is no role "{role}" (roles: {known})')


def _accesses(subject: Subject) -> list[Item]:
    """The subject's access items, from memory for some seconds."""
    known = _cache.get(subject)
    if known and 0 <= time.time() - known[0] < CACHE_SECONDS:
        return known[1]
    accesses = _table().query(f"subject#{subject.issuer}#{subject.sub}")
    if len(_cache) >= MOST_CACHED_SUBJECTS:
        _cache.clear()
    _cache[subject] = (time.time(), accesses)
    return accesses


def _table() -> Table:
    return Table(settings().directory_table, "directory")


def _check_id(field: str, value: str) -> None:
    """Ids are parts of keys."""
    if not value or "#" in value or "/" in value:
        raise InvalidRequest(field=field, problem="an id has at least one character, and no # or /")
