"""The login page, on which a visitor chooses a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1d22; --soft: #6b6f7b; --line: #e3e4ea; --paper: #fff; --ground: #f5f5f8;
  --accent: #4453d6 }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf1; --soft: #9a9eab; --line: #34363f; --paper: #1f2026;
  --ground: #141519; --accent: #8f9bff } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
main { width: min(26rem, calc(100vw - 2rem)); padding: 2rem; background: var(--paper); border: 1px solid var(--line);
  border-radius: 16px }
h1 { margin: 0 0 .25rem; font-size: 1.25rem } p { margin: 0 0 1.5rem; color: var(--soft); overflow-wrap: anywhere }
form { display: grid; gap: .5rem } strong { color: var(--ink) }
button { font: inherit; color: inherit; cursor: pointer; border: 1px solid var(--line); border-radius: 10px;
  background: transparent; padding: .75rem 1rem; text-align: left; display: grid;
  grid-template-columns: 1fr auto; align-items: center }
button:hover, button:focus-visible { border-color: var(--accent); outline: none; box-shadow: 0 0 0 3px
  color-mix(in srgb, var(--accent) 20%, transparent) }
small { color: var(--soft); grid-column: 1 }
em { grid-row: 1 / span 2; grid-column: 2; font-style: normal;
  font-size: .8rem; padding: .1rem .6rem; border-radius: 99px; background: var(--ground);
  border: 1px solid var(--line) }
.deny { margin-top: .75rem; display: block; text-align: center; color: var(--soft); border-color: transparent }
"""


@dataclass(frozen=True, slots=True)
class Person:
    """A person who can log in."""

    sub: str
    """The subject of the person's tokens; the other fields are only shown."""
    name: str
    email: str
    role: str


def login_page(people: Iterable[Person], *, request: str, client: str, destination: str) -> str:
    """Return the page with a button for each person and one to deny."""
    buttons = "".join(
        f'<button name="sub" value="{escape(person.sub)}"><b>{escape(person.name)}</b>'
        f"<small>{escape(person.email)}</small><em>{escape(person.role)}</em></button>"
        for person in people
    )
    return _document(
        "Who are you?",
        f"<p><strong>{escape(client)}</strong> wants to act for you. You then return to {escape(destination)}.</p>"
        f'<form method="post"><input type="hidden" name="request" value="{escape(request)}">{buttons}'
        '<button class="deny" name="deny" value="1">Deny</button></form>',
    )


def expired_page() -> str:
    """Return the page for a login that has expired or never began."""
    return _document("This login has ended", "<p>Start again in your MCP client.</p>")


def _document(title: str, content: str) -> str:
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style><main><h1>{title}</h1>{content}</main></html>"
    )
