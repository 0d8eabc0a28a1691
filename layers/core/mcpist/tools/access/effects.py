"""Effects of a change of an organization: the tools that people see, gain and lose."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from mcpist.aws.attributes import encode
from mcpist.caller import Caller, Role, Subject
from mcpist.people.administration import AppliedChange
from mcpist.people.change import directory_fields, fields_of, user_fields
from mcpist.people.organization import Organization
from mcpist.tools.access.counted_calls import UsersTools, count_calls
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import Catalogue


def describe_change(applied: AppliedChange, catalogue: Catalogue) -> dict[str, Any]:
    """Return a change for people: the fields that differ, who gains and loses what, and only new warnings.

    A dry run also counts the calls of the last days that would have been refused, or would have waited for a person.
    """
    before, after = applied.change.before, applied.change.after
    known = unmatched_patterns(before, catalogue)
    affected = effects(before, after, catalogue)
    lost = lost_tools(affected) if applied.dry_run else {}
    asked = newly_asked(before, after, catalogue) if applied.dry_run else {}
    counted = count_calls(after.id, _joined(lost, asked)) if lost or asked else None
    return {
        "organization": after.id,
        "version": applied.change.version,
        "dry_run": applied.dry_run,
        "changes": list(changes(_parts(_differing(before, after)), _parts(_differing(after, before)))),
        "effects": affected,
        "refused_calls": _calls_of(counted, lost),
        "asked_calls": _calls_of(counted, asked),
        "forgotten_grants": [f"{account.service} of {account.owner_name}" for account in applied.accounts],
        "warnings": [pattern for pattern in unmatched_patterns(after, catalogue) if pattern not in known],
    }


def permissions(organization: Organization, catalogue: Catalogue, *roles: Role, user: str = "") -> Permissions:
    """Return the permissions of a user with these roles of the organization."""
    return Permissions(_somebody(organization, *roles, user=user), catalogue)


def permissions_of(organization: Organization, catalogue: Catalogue, user: str) -> Permissions:
    """Return the permissions of a user of the organization with all roles; UserNotFound if there is none."""
    roles = (organization.roles[name] for name in organization.roles_of(organization.user(user)))
    return permissions(organization, catalogue, *roles, user=user)


def preview_tools(organization: Organization, catalogue: Catalogue, *roles: Role, tools: bool) -> dict[str, Any]:
    """Count the visible tools of each module, and with `tools` also name them."""
    permitted = permissions(organization, catalogue, *roles)
    modules: list[dict[str, Any]] = []
    for module in permitted.modules():
        visible = permitted.tools(module)
        row: dict[str, Any] = {"module": module.name, "tools": len(visible), "of": len(module.tools)}
        modules.append(row | ({"names": {tool.name: tool.effect for tool in visible}} if tools else {}))
    return {"tools": sum(module["tools"] for module in modules), "modules": modules}


def effects(before: Organization, after: Organization, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return which tools appear and vanish for which users, and for which roles alone.

    Only those whom the change concerns are looked at: in a large organization most users keep all that they have.
    """
    concerned = _concerned(before, after)
    rows: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, Any]] = {}
    # Users and roles with the same effect share a row: a change of one role can concern thousands of users.
    old, new = (_tools_by_name(organization, catalogue, concerned) for organization in (before, after))
    # Users come before roles, each in the order of their names.
    for kind, name in sorted({*old, *new}, key=lambda key: (key[0] == "roles", key[1])):
        had, has = old.get((kind, name), frozenset()), new.get((kind, name), frozenset())
        if had != has:
            what = tuple(sorted(has - had)), tuple(sorted(had - has))
            row = {"users": [], "roles": [], "appear": list(what[0]), "vanish": list(what[1])}
            rows.setdefault(what, row)[kind].append(name)
    return list(rows.values())


def changes(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[dict[str, Any]]:
    """Yield the differences of two mappings as `{path, before, after}`, at the outermost differing keys."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from changes(old, new, f"{path}{name}.")
        elif old != new:
            yield {"path": f"{path}{name}", "before": old, "after": new}


def unmatched_patterns(organization: Organization, catalogue: Catalogue, categories: Collection[str] = ()) -> list[str]:
    """Return a text for each module and mask that matches nothing: a typing error, or another release's tool.

    The tools of upstream `categories` are not known, and neither are those of a registered module, or of one that has
    none yet: a mask whose module is one of them always matches.
    """
    # With all roles: saved batches and automations are modules of callers whose roles have them.
    index = catalogue.of(_somebody(organization, *organization.roles.values())).index
    toolless = [name for name, module in index.modules.items() if not module.tools]
    categories = {*categories, *organization.modules, *toolless}
    listed = (one.listed_in(module.name) for module in index.modules.values() for one in module.materials)
    names = [f"{one.module}.{one.name}" for one in (*index.tools, *listed)]
    masks = {"disabled": organization.disabled}
    found = []
    for role in organization.roles.values():
        kinds = ("allow", "deny", "approval", "second_person")
        masks |= {f"roles.{role.name}.{kind}": getattr(role, kind) for kind in kinds}
        unknown = [module for module in role.modules if module not in {*index.modules, *categories}]
        found += [f"roles.{role.name}.modules: this release has no module {module}" for module in unknown]
    return found + [
        f"{place}: the mask {mask} matches no tool of this release"
        for place, some in masks.items()
        for mask in some
        if not (place == "disabled" and mask in {*index.modules, *categories})
        and not any(fnmatchcase(name, mask) for name in names)
        and not any(_may_match(mask, name) for name in categories)
    ]


def _may_match(mask: str, module: str) -> bool:
    """Whether a mask can match a tool of a module whose tools are not known; names of modules have dots, too."""
    return any(fnmatchcase(f"{module}.", mask[:end]) for end in range(1, len(mask) + 1))


def _differing(one: Organization, other: Organization) -> Organization:
    """Return an organization with only the roles and users that differ from another's: most of a thousand do not."""
    roles = {name: role for name, role in one.roles.items() if role != other.roles.get(name)}
    users = {name: user for name, user in one.users.items() if user != other.users.get(name)}
    return replace(one, roles=roles, users=users)


def _parts(organization: Organization) -> dict[str, Any]:
    """Return the fields of an organization that a change shows, whether its users have accepted among them."""
    users = {user: user_fields(one) for user, one in sorted(organization.users.items())}
    groups = {group.name: {"roles": list(group.roles)} for group in organization.groups.values()}
    return {name: value for name, value in fields_of(organization).items() if name != "organization"} | {
        "users": users,
        "groups": groups,
        "directory": directory_fields(organization),
        "policies": encode(organization.policies) if organization.policies else None,
    }


def _somebody(organization: Organization, *roles: Role, user: str = "") -> Caller:
    modules = tuple(organization.modules.values())
    own = roles, organization.disabled, modules, organization.policies
    return Caller(organization.id, user, Subject("", ""), "user", *own)


def _concerned(before: Organization, after: Organization) -> Callable[[Collection[str]], bool]:
    """Return whether a change can concern who has some roles: if one of them changed, or what holds for everybody."""
    if (before.disabled, before.modules) != (after.disabled, after.modules):
        return lambda _roles: True
    changed = {name for name in {*before.roles, *after.roles} if before.roles.get(name) != after.roles.get(name)}
    moved = {
        one.roles_of(user)
        for one, other in ((before, after), (after, before))
        for user in one.users.values()
        if other.users.get(user.id) != user or one.roles_of(user) != other.roles_of(user)
    }
    return lambda roles: tuple(roles) in moved or not changed.isdisjoint(roles)


def _tools_by_name(
    organization: Organization, catalogue: Catalogue, concerned: Callable[[Collection[str]], bool]
) -> dict[tuple[str, str], frozenset[str]]:
    """Return the tools of the concerned users and of the concerned roles alone, by `users` or `roles` and the name."""

    @cache  # most users share their roles with others
    def tools_of(roles: tuple[str, ...]) -> frozenset[str]:
        permitted = permissions(organization, catalogue, *(organization.roles[name] for name in roles))
        tools = (tool for module in permitted.modules() for tool in permitted.tools(module))
        return frozenset(f"{tool.module}.{tool.name}" for tool in tools)

    holders = {("users", user.id): organization.roles_of(user) for user in organization.users.values()}
    holders |= {("roles", name): (name,) for name in organization.roles}
    return {holder: tools_of(roles) for holder, roles in holders.items() if concerned(roles)}


def newly_asked(before: Organization, after: Organization, catalogue: Catalogue) -> UsersTools:
    """Return the tools for which a person is asked after a change, and was not before it, by users who keep them."""

    @cache
    def asked(roles: tuple[Role, ...]) -> frozenset[str]:
        if not any(role.approval or role.second_person for role in roles):
            return frozenset()
        permitted = permissions(after, catalogue, *roles)
        tools = (tool for module in permitted.modules() for tool in permitted.tools(module))
        return frozenset(f"{tool.module}.{tool.name}" for tool in tools if permitted.approval_mode([tool]))

    def roles_of(organization: Organization, user: str) -> tuple[Role, ...]:
        known = organization.users.get(user)
        return tuple(organization.roles[name] for name in organization.roles_of(known)) if known else ()

    pairs = {user: (roles_of(before, user), roles_of(after, user)) for user in after.users}
    found = {user: asked(held) - asked(earlier) for user, (earlier, held) in pairs.items() if held != earlier}
    return {user: names for user, names in found.items() if names}


def _joined(one: UsersTools, other: UsersTools) -> UsersTools:
    return {user: frozenset((*one.get(user, ()), *other.get(user, ()))) for user in {**one, **other}}


def _calls_of(counted: Mapping[str, Any] | None, tools: UsersTools) -> dict[str, Any] | None:
    """Return the counted calls of some tools; None without any tool."""
    if counted is None or not tools:
        return None
    return {**counted, "calls": [call for call in counted["calls"] if call["tool"] in tools.get(call["user"], ())]}


def lost_tools(effects: Collection[Mapping[str, Any]]) -> UsersTools:
    """Return the tools that users lose by a change's effects."""
    return {user: frozenset(row["vanish"]) for row in effects if row["vanish"] for user in row["users"]}
