"""The pages: plain HTML from plain values, without a script."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any
from urllib.parse import quote

from connect.forms import connect_form, key_form, whose
from connect.markup import form, link, small
from connect.style import STYLE
from connect.words import PROVIDERS, Words, title

type Row = Mapping[str, Any]


def overview(words: Words, offer: Row) -> str:
    """All services that the person can connect, and how each stands."""
    entries = sorted(offer["services"], key=lambda entry: title(entry["service"]))
    rows = "".join(_line(words, entry) for entry in entries)
    body = f"<ul>{rows}</ul>" if rows else f"<p>{escape(words.none_here)}</p>"
    lead = f'<p class="soft">{escape(words.accounts_lead)}</p>'
    return _page(words, words.accounts, lead + body + _foot(words, "/connect"), offer)


def service(words: Words, offer: Row, note: str = "") -> str:
    """One service: what is connected, and the way to connect an account."""
    (entry,) = offer["services"]
    name = title(entry["service"])
    cards = "".join(_card(words, offer, entry, row) for row in entry["grants"])
    forms = connect_form(words, offer, entry) + key_form(words, offer, entry)
    forms = forms or f'<p class="note">{escape(words.no_way.format(service=name))}</p>'
    if any(row["own"] for row in entry["grants"]):
        heading = name
        lead = f'<p class="soft">{escape(words.reconnect_lead)}</p>'
        content = f"{cards}<details><summary>{escape(words.reconnect)}</summary>{lead}{forms}</details>"
    else:
        heading = words.connect.format(service=name)
        content = f'<p class="soft">{escape(words.connect_lead.format(service=name))}</p>{cards}{forms}'
    return _page(words, heading, note + content + _foot(words, _place(entry), back=True), offer)


def leaving(words: Words, provider: str, url: str) -> str:
    """On to the provider.

    A form's own redirect would need the addresses of all pages of all providers in the policy for forms.
    """
    heading = words.leaving.format(service=PROVIDERS.get(provider, title(provider)))
    content = f'<p class="soft">{escape(words.leaving_note)}</p>{link(url, heading, kind="button wide")}'
    return _page(words, heading, content, head=f'<meta http-equiv="refresh" content="0;url={escape(url)}">')


def question(words: Words, asked: Row, offer: Row) -> str:
    """Whether an account that was not expected shall be used."""
    reasons = {"replaces": words.replaces, "personal": words.personal.format(role=asked["role"])}
    why = "".join(f'<p class="note bad">{escape(reasons[reason])}</p>' for reason in asked["reasons"])
    owner = words.of_role.format(role=asked["role"]) if asked["role"] else words.then
    sides = _side(words.then if asked["old"] else owner, asked["new"])
    if asked["old"]:
        sides = f'{_side(words.now, asked["old"])}<span aria-hidden="true">→</span>{sides}'
    answers = (
        f'<button class="wide" name="agreed" value="yes">{escape(words.agree)}</button>'
        f'<button class="wide quiet" name="agreed" value="no">{escape(words.decline)}</button>'
    )
    ask = form("confirm", answers, question=asked["question"], **whose(offer))
    turn = "turn" if asked["old"] else "turn alone"
    return _page(words, words.really, f'{why}<div class="{turn}">{sides}</div>{ask}', offer)


def message(words: Words, heading: str, text: str, ways: Iterable[tuple[str, str]], *, hint: str = "") -> str:
    """Something to read, and where to go from there."""
    links = "".join(link(url, label) for label, url in ways)
    told = f"<p>{escape(text)}</p>" + (f'<p class="soft">{escape(hint)}</p>' if hint else "")
    return _page(words, heading, f"{told}<footer>{links}</footer>")


def note(text: str, more: str = "", *, kind: str = "") -> str:
    """What happened just now."""
    told = f"<b>{escape(text)}</b>{escape(more)}" if more else escape(text)
    return f'<div class="note {kind}" role="status">{told}</div>'


def _page(words: Words, heading: str, content: str, offer: Row | None = None, *, head: str = "") -> str:
    who = f"<span>{escape(words.signed_in.format(**offer))}</span>" if offer else ""
    return (
        f'<!doctype html><html lang="{words.language}"><head><meta charset="utf-8">{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)} · MCPist</title><style>{STYLE}</style></head><body><main>"
        f"<header><strong>MCPist</strong>{who}</header><h1>{escape(heading)}</h1>{content}</main></body></html>"
    )


def _foot(words: Words, place: str, *, back: bool = False) -> str:
    home = link("/connect", words.back) if back else ""
    return f"<footer>{home}{link(f'{place}?again=1', words.others_login)}</footer>"


def _line(words: Words, entry: Row) -> str:
    acting = next((row for row in entry["grants"] if row["acts"]), None)
    account = small(_account(words, acting)) if acting else ""
    named = f"<span><b>{escape(title(entry['service']))}</b>{account}</span>"
    return f'<li><a href="{_place(entry)}">{named}{_mark(words, acting)}</a></li>'


def _card(words: Words, offer: Row, entry: Row, row: Row) -> str:
    """A connection; who may end it finds the button."""
    facts = [
        words.yours if row["own"] else words.of_role.format(role=row["role"]),
        words.since.format(day=datetime.fromtimestamp(row["created_at"], UTC).date().isoformat()),
    ]
    if row["role"] and row["kind"] == "person":
        facts.append(words.of_person)
    if len(row["services"]) > 1:
        facts.append(words.used_for.format(services=", ".join(map(title, row["services"]))))
    if row["open_to"]:
        facts.append(words.open_to.format(roles=", ".join(row["open_to"])))
    told = f"<span><b>{escape(_account(words, row))}</b>{''.join(map(small, facts))}</span>"
    end = ""
    if row["own"] or offer["all_roles"]:
        button = f'{small(words.disconnect_note)}<button class="risky">{escape(words.disconnect)}</button>'
        end = form(entry["service"], button, action="disconnect", role=row["role"], **whose(offer))
    return f'<section class="card"><div>{told}{_mark(words, row)}</div>{end}</section>'


def _side(label: str, account: Row) -> str:
    name = f"<b>{escape(account['name'] or account['id'])}</b>"
    return f'<div class="card">{small(label)}{name}{small(account["id"])}</div>'


def _account(words: Words, row: Row) -> str:
    return words.connected_as.format(account=row["account_name"] or row["account_id"] or words.unnamed)


def _mark(words: Words, row: Row | None) -> str:
    if row is None:
        return f'<span class="mark">{escape(words.missing)}</span>'
    kind, text = ("good", words.works) if row["usable"] else ("bad", words.fails)
    return f'<span class="mark {kind}">{escape(text)}</span>'


def _place(entry: Row) -> str:
    return f"/connect/{quote(entry['service'], safe='')}"
