"""Templates become pages: everything in them is text unless a template itself writes markup."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mcpist.errors import (
    AccountError,
    AdministratorError,
    Locale,
    ModuleNotFound,
    PageNotFound,
    SchemaFetchError,
    ToolNotFound,
    UpstreamUnavailable,
    concrete_errors,
)
from mcpist.http.browser import BrowserRequest
from mcpist.http.page import file_response
from mcpist.http.request import HttpResponse
from mcpist.http.texts import Texts, read_texts
from mcpist.render.answer import estimate_tokens
from mcpist.running.destructive_use import quote as quote_json
from mcpist.visible_text import visible
from mcpist_services import key_example, key_page, provider_title, title

TEMPLATES, LOCALES = (Path(__file__).parent / name for name in ("templates", "locales"))
_EXPLAINED = (AdministratorError, AccountError, ModuleNotFound, ToolNotFound, UpstreamUnavailable, SchemaFetchError)
EXPLAINED_CODES = frozenset(
    kind.code for one in _EXPLAINED for kind in (one, *concrete_errors(one)) if hasattr(kind, "code")
)
"""The codes that a decision about the use of a tool has; a wrong argument or a service's answer is none."""
AUDIT_COLUMNS = {
    "time": "logs.time",
    "user": "logs.user",
    "tool": "logs.what",
    "outcome": "logs.outcome",
    "account": "logs.account",
    "client_name": "logs.client",
}
"""The columns of the audit that a table shows, with the texts of their heads."""
MARK_HUES = 6
json_text = partial(json.dumps, ensure_ascii=False, indent=2)
ASSETS = Path(__file__).parent / "assets"
ASSET_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class ShownText:
    """A long text, as far as a page shows it."""

    text: str
    tokens: int
    """About how many tokens the whole text has."""
    is_cut: bool


def shown_text(text: str, characters: int, *, counted: str = "") -> ShownText:
    """Return the beginning of a text; its tokens are those of the text `counted`, if one is given."""
    return ShownText(text[:characters], estimate_tokens(counted or text), len(text) > characters)


def texts(language: Locale) -> Texts:
    """Return the texts of a language."""
    return read_texts(LOCALES, language)


def render(template: str, texts: Texts, values: dict[str, Any]) -> str:
    """Return a page in the language of the texts."""
    return environment().get_template(template).render(t=texts, **values)


@cache
def environment() -> Environment:
    """Return the environment of all templates."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        # A misspelled name fails instead of showing nothing.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # The files of a function never change.
        auto_reload=False,
    )
    # What comes from outside is shown so that nothing in it is invisible.
    made.filters |= {
        "shown": lambda text: visible(str(text)),
        "shown_lines": lambda text: visible(str(text), lines=True),
    }
    made.filters |= {"title_of": title, "moment": _moment, "day": _day, "duration": _duration, "one_line": quote_json}
    made.filters["fitted"] = fitted
    made.filters["json_text"] = json_text
    made.filters["repeated"] = lambda value: (value, value)
    made.filters["mark"] = _mark
    made.filters["said"] = lambda name, texts: texts(name)
    made.globals |= {"asset": asset_address, "service_path": service_path, "provider_title": provider_title}
    made.globals |= {"key_page": key_page, "key_example": key_example, "EXPLAINED_CODES": EXPLAINED_CODES}
    made.globals["AUDIT_COLUMNS"] = AUDIT_COLUMNS
    return made


def address(path: str, /, **query: str | None) -> str:
    """Return an address with the parts of its query that are not empty, added to those that it has."""
    given = {name: value for name, value in query.items() if value}
    return f"{path}{'&' if '?' in path else '?'}{urlencode(given)}" if given else path


def service_path(name: str) -> str:
    """Return the path of the page of a service's accounts."""
    return f"/connect/{quote(name, safe='')}"


def compile_all() -> None:
    """Compile every template, before the snapshot of the function is taken."""
    for path in TEMPLATES.rglob("*.html"):
        environment().get_template(str(path.relative_to(TEMPLATES)))


def fitted(text: str, columns: int) -> str:
    """Return a text from outside, cut to so many columns; a wide character takes two."""
    shown, used = visible(text), 0
    for place, character in enumerate(shown):
        used += 2 if east_asian_width(character) in "WF" else 1
        if used > columns:
            return f"{shown[: max(0, place - 1)]}…"  # which takes a column, too
    return shown


def _mark(name: str) -> tuple[str, int]:
    """Return the letters by which people find a service, and the number of their hue."""
    known_by = title(name)
    capitals = [letter for letter in known_by if letter.isupper()]
    return "".join(capitals[:2]) if len(capitals) > 1 else known_by[:2].title(), sum(name.encode()) % MARK_HUES


def _moment(seconds: float) -> Markup:
    """Return a time as an element, in UTC."""
    at = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(at.isoformat(), at.strftime("%Y-%m-%d %H:%M"))


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def _duration(seconds: float) -> str:
    """Return a duration, as exactly as people want to know it."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def show_asset(request: BrowserRequest) -> HttpResponse:
    """Return the file that the address names; an address with another hash is one of another release."""
    name = _asset_names().get(request.path_parameters.get("file", ""))
    if name is None:
        raise PageNotFound(method=request.method, path=request.path)
    return file_response(request, _asset(name), ASSET_TYPES[Path(name).suffix])


@cache
def asset_address(name: str) -> str:
    """Return the path of a file such as `style.css`."""
    stem, dot, suffix = name.partition(".")
    return f"/assets/{stem}.{hashlib.sha256(_asset(name)).hexdigest()[:12]}{dot}{suffix}"


@cache
def _asset_names() -> dict[str, str]:
    files = (path.name for path in ASSETS.iterdir() if path.suffix in ASSET_TYPES)
    return {asset_address(name).rpartition("/")[2]: name for name in files}


@cache
def _asset(name: str) -> bytes:
    return (ASSETS / name).read_bytes()
