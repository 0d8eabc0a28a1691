"""The pages as HTML, without scripts."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any

from connect.forms import connect_form, identity_fields, key_form
from connect.markup import form, link, service_path, small
from connect.style import STYLE
from connect.texts import Texts
from mcpist_services import provider_title, title

type Row = Mapping[str, Any]


def overview(texts: Texts, offer: Row) -> str:
    """Return the list of all services that the person can connect."""
    entries = sorted(offer["services"], key=lambda entry: title(entry["service"]))
    rows = "".join(_service_item(texts, entry) for entry in entries)
    body = f"<ul>{rows}</ul>" if rows else f"<p>{escape(texts.no_services)}</p>"
    lead = f'<p class="soft">{escape(texts.accounts_lead)}</p>'
    return _page(texts, texts.accounts, lead + body + _footer(texts, "/connect"), offer)


def service(texts: Texts, offer: Row, note: str = "") -> str:
    """Return the page of one service: its connections and the forms to connect an account."""
    (entry,) = offer["services"]
    name = title(entry["service"])
    cards = "".join(_card(texts, offer, entry, row) for row in entry["grants"])
    forms = connect_form(texts, offer, entry) + key_form(texts, offer, entry)
    forms = forms or f'<p class="note">{escape(texts.not_set_up.format(service=name))}</p>'
    if any(row["own"] for row in entry["grants"]):
        heading = name
        lead = f'<p class="soft">{escape(texts.reconnect_lead)}</p>'
        content = f"{cards}<details><summary>{escape(texts.reconnect)}</summary>{lead}{forms}</details>"
    else:
        heading = texts.connect.format(service=name)
        content = f'<p class="soft">{escape(texts.connect_lead.format(service=name))}</p>{cards}{forms}'
    return _page(texts, heading, note + content + _footer(texts, service_path(entry["service"]), back=True), offer)


def leaving(texts: Texts, service: str, url: str) -> str:
    """Return the page that leads on to the provider.

    A redirect of the form would need the addresses of all providers in the policy for forms.
    """
    heading = texts.leaving.format(service=provider_title(service))
    content = f'<p class="soft">{escape(texts.leaving_note)}</p>{link(url, heading, kind="button wide")}'
    return _page(texts, heading, content, head=f'<meta http-equiv="refresh" content="0;url={escape(url)}">')


def question(texts: Texts, pending: Row, offer: Row) -> str:
    """Return the question whether to use an unexpected account."""
    reasons = {"replaces": texts.replaces, "personal": texts.personal.format(role=pending["role"])}
    why = "".join(f'<p class="note bad">{escape(reasons[reason])}</p>' for reason in pending["reasons"])
    owner = texts.role_account.format(role=pending["role"]) if pending["role"] else texts.account_after
    sides = _account_card(texts.account_after if pending["old"] else owner, pending["new"])
    if pending["old"]:
        sides = f'{_account_card(texts.account_before, pending["old"])}<span aria-hidden="true">→</span>{sides}'
    answers = (
        f'<button class="wide" name="agreed" value="yes">{escape(texts.agree)}</button>'
        f'<button class="wide quiet" name="agreed" value="no">{escape(texts.decline)}</button>'
    )
    ask = form("confirm", answers, question=pending["question"], **identity_fields(offer))
    turn = "turn" if pending["old"] else "turn alone"
    return _page(texts, texts.confirm_account, f'{why}<div class="{turn}">{sides}</div>{ask}', offer)


def message(texts: Texts, heading: str, text: str, actions: Iterable[tuple[str, str]], *, hint: str = "") -> str:
    """Return a page with a message and links."""
    links = "".join(link(url, label) for label, url in actions)
    content = f"<p>{escape(text)}</p>" + (f'<p class="soft">{escape(hint)}</p>' if hint else "")
    return _page(texts, heading, f"{content}<footer>{links}</footer>")


def note(text: str, more: str = "", *, kind: str = "") -> str:
    """Return a note about the last action."""
    content = f"<b>{escape(text)}</b>{escape(more)}" if more else escape(text)
    return f'<div class="note {kind}" role="status">{content}</div>'


def _page(texts: Texts, heading: str, content: str, offer: Row | None = None, *, head: str = "") -> str:
    who = f"<span>{escape(texts.signed_in.format(**offer))}</span>" if offer else ""
    return (
        f'<!doctype html><html lang="{texts.language}"><head><meta charset="utf-8">{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)} · MCPist</title><style>{STYLE}</style></head><body><main>"
        f"<header><strong>MCPist</strong>{who}</header><h1>{escape(heading)}</h1>{content}</main></body></html>"
    )


def _footer(texts: Texts, path: str, *, back: bool = False) -> str:
    home = link("/connect", texts.back) if back else ""
    return f"<footer>{home}{link(f'{path}?again=1', texts.other_login)}</footer>"


def _service_item(texts: Texts, entry: Row) -> str:
    acting = next((row for row in entry["grants"] if row["acts"]), None)
    account = small(_account(texts, acting)) if acting else ""
    named = f"<span><b>{escape(title(entry['service']))}</b>{account}</span>"
    return f'<li><a href="{service_path(entry["service"])}">{named}{_badge(texts, acting)}</a></li>'


def _card(texts: Texts, offer: Row, entry: Row, row: Row) -> str:
    """Return the card of a connection, with a button for those who may disconnect it."""
    facts = [
        texts.own_account if row["own"] else texts.role_account.format(role=row["role"]),
        texts.since.format(day=datetime.fromtimestamp(row["created_at"], UTC).date().isoformat()),
    ]
    if row["role"] and row["kind"] == "person":
        facts.append(texts.person_account)
    if len(row["services"]) > 1:
        facts.append(texts.used_for.format(services=", ".join(map(title, row["services"]))))
    if row["open_to"]:
        facts.append(texts.open_to.format(roles=", ".join(row["open_to"])))
    content = f"<span><b>{escape(_account(texts, row))}</b>{''.join(map(small, facts))}</span>"
    disconnect = ""
    if row["own"] or offer["all_roles"]:
        button = f'{small(texts.disconnect_note)}<button class="risky">{escape(texts.disconnect)}</button>'
        disconnect = form(entry["service"], button, action="disconnect", role=row["role"], **identity_fields(offer))
    return f'<section class="card"><div>{content}{_badge(texts, row)}</div>{disconnect}</section>'


def _account_card(label: str, account: Row) -> str:
    name = f"<b>{escape(account['name'] or account['id'])}</b>"
    return f'<div class="card">{small(label)}{name}{small(account["id"])}</div>'


def _account(texts: Texts, row: Row) -> str:
    return texts.connected_as.format(account=row["account_name"] or row["account_id"] or texts.unnamed_account)


def _badge(texts: Texts, row: Row | None) -> str:
    if row is None:
        return f'<span class="mark">{escape(texts.status_missing)}</span>'
    kind, text = ("good", texts.status_works) if row["usable"] else ("bad", texts.status_fails)
    return f'<span class="mark {kind}">{escape(text)}</span>'
