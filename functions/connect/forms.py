"""The two forms of a service's page: consent at the provider, or a pasted key."""

from collections.abc import Mapping
from html import escape
from typing import Any

from connect.markup import choice, form, group, hidden, small
from connect.texts import Texts
from mcpist_services import key_page, provider_title, title

type Row = Mapping[str, Any]


def connect_form(texts: Texts, offer: Row, entry: Row) -> str:
    """Return the form that leads to the provider, or nothing if its app is not set up."""
    if not entry["consent"]:
        return ""
    name = provider_title(entry["service"])
    content = _service_choice(texts, entry) + _owner_choice(texts, offer, entry)
    button = f'<button class="wide">{escape(texts.connect_with.format(service=name))}</button>'
    return form(entry["service"], content + button, kind="who", action="begin", **identity_fields(offer))


def key_form(texts: Texts, offer: Row, entry: Row) -> str:
    """Return the form for a key, or nothing if the service accepts none; it is open if it is the only form."""
    if not entry["keys"]:
        return ""
    label = texts.make_key.format(service=title(entry["service"]))
    address = key_page(entry["service"])
    link = f' <a href="{escape(address)}" target="_blank" rel="noopener">{escape(label)}</a>' if address else ""
    field = (
        f'<label class="field">{escape(texts.key)}<input class="text" type="password" name="key" required '
        'autocomplete="off" spellcheck="false" maxlength="16384"></label>'
    )
    button = f'<button class="wide quiet">{escape(texts.store_key)}</button>'
    content = form(
        entry["service"],
        field + _owner_choice(texts, offer, entry) + button,
        kind="who",
        action="paste",
        **identity_fields(offer),
    )
    return (
        f"<details{'' if entry['consent'] else ' open'}><summary>{escape(texts.paste)}</summary>"
        f'<p class="soft">{escape(texts.paste_note)}{link}</p>{content}</details>'
    )


def identity_fields(offer: Row) -> dict[str, str]:
    """Return the person a form is for, so that it does nothing after another login."""
    return {"organization": offer["organization"], "user": offer["user"]}


def _service_choice(texts: Texts, entry: Row) -> str:
    """Return the choice of services for one consent; this one and those already connected are checked."""
    if len(entry["together"]) < 2:
        return hidden({"services": entry["service"]})
    served = {entry["service"], *(name for row in entry["grants"] if row["own"] for name in row["services"])}
    boxes = (choice("checkbox", "services", name, title(name), checked=name in served) for name in entry["together"])
    return group(texts.which_services, "".join(boxes))


def _owner_choice(texts: Texts, offer: Row, entry: Row) -> str:
    """Return the choice of an owner: an administrator may connect an account for a role."""
    if not offer["all_roles"]:
        return _role_choice(texts, offer, entry)
    for_role = offer["role"] in offer["all_roles"]
    mine = choice("radio", "whom", "me", texts.for_me, texts.for_me_note, checked=not for_role)
    role = choice("radio", "whom", "role", texts.for_role, texts.for_role_note, checked=for_role)
    names = "".join(
        f"<option{' selected' if name == offer['role'] else ''}>{escape(name)}</option>" for name in offer["all_roles"]
    )
    select = f'<label class="field role">{escape(texts.role)}<select name="role">{names}</select></label>'
    return group(texts.for_whom, mine + role) + _role_choice(texts, offer, entry) + select


def _role_choice(texts: Texts, offer: Row, entry: Row) -> str:
    """Return the choice of roles that may use the account, if the person has several."""
    if len(offer["roles"]) < 2:
        return ""
    own = next((row for row in entry["grants"] if row["own"]), None)
    opened = set(own["open_to"] if own else ()) or set(offer["roles"])
    boxes = "".join(
        choice("checkbox", "open_to", name, name, checked=name in opened) + hidden({"could_open_to": name})
        for name in offer["roles"]
    )
    return group(texts.which_roles, boxes + small(texts.which_roles_note), kind="mine")
