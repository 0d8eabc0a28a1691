"""The login page, on which a visitor chooses a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template


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
    shown = {"people": list(people), "request": request, "client": client, "destination": destination}
    return _template().render(title="Who are you?", **shown)


def expired_page() -> str:
    """Return the page for a login that has expired or never began."""
    return _template().render(title="This login has ended", people=[])


@cache
def _template() -> Template:
    source = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    # A client names itself, so every value is escaped.
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(source)
