"""The clients that organizations allow to act for their people: a list of names and hosts, or all."""

from collections.abc import Collection, Iterable, Sequence
from urllib.parse import urlsplit

from login.clients import LoginClient
from mcpist.caller import Caller, Subject
from mcpist.errors import ClientNotAllowed, MembershipRequired
from mcpist.people import directory


def memberships(subject: Subject, only: str = "") -> list[Caller]:
    """Return a person's memberships, or that of the `only` organization."""
    try:
        return [one for one in directory.identify_all(subject) if only in {"", one.organization}]
    except MembershipRequired:
        return []


def organizations(members: Sequence[Caller], client: LoginClient) -> list[str]:
    """Return the organizations among a person's in which a client may act; ClientNotAllowed if there is none."""
    own = [member.organization for member in members]
    found = [one for one in own if allows(directory.read_settings(one).clients, client)]
    if own and not found:
        raise ClientNotAllowed(organization=own[0])
    return found


def limits(subject: Subject, client: LoginClient, only: Collection[str]) -> tuple[str, ...]:
    """Return the organizations, among the `only` ones if there are any, in which a client may act; empty for all."""
    if client.is_ours:
        return tuple(only)
    members = memberships(subject)
    found = organizations([one for one in members if not only or one.organization in only], client)
    return tuple(found or only) if only or len(found) < len(members) else ()


def allows(listed: Iterable[str], client: LoginClient) -> bool:
    """Whether a list of names and hosts has a client.

    A host counts if it describes the client, or if all answers go there. What looks like a host is never a mere name,
    since anybody may register with any name.
    """
    known = {one.casefold() for one in listed}
    if not known or client.organization:
        return True
    targets = {urlsplit(uri)[:2] for uri in client.redirect_uris}
    only = next(iter(targets)) if len(targets) == 1 else ("", "")
    host = client.host or (only[1] if only[0] == "https" else "")
    is_named = "." not in client.name and client.name.casefold() in known
    return host.casefold() in known or (is_named and not client.host)
