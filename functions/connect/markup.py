"""The small elements of pages; all values are escaped."""

from collections.abc import Mapping
from html import escape
from urllib.parse import quote


def service_path(service: str) -> str:
    """Return the path of a service's page."""
    return f"/connect/{quote(service, safe='')}"


def form(service: str, content: str, *, kind: str = "", **fields: str) -> str:
    """Return a form that is sent to a service's page, with hidden fields."""
    return f'<form method="post" class="{kind}" action="{service_path(service)}">{hidden(fields)}{content}</form>'


def hidden(fields: Mapping[str, str]) -> str:
    """Return hidden fields."""
    return "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in fields.items()
    )


def group(legend: str, content: str, *, kind: str = "") -> str:
    """Return choices under a legend."""
    return f'<fieldset class="{kind}"><legend>{escape(legend)}</legend>{content}</fieldset>'


def choice(kind: str, name: str, value: str, label: str, more: str = "", *, checked: bool = False) -> str:
    """Return a radio button or a checkbox with its label."""
    mark = " checked" if checked else ""
    return (
        f'<label class="choice"><input type="{kind}" name="{name}" value="{escape(value)}"{mark}>'
        f"<span>{escape(label)}{small(more)}</span></label>"
    )


def small(text: str) -> str:
    """Return small text, or nothing if it is empty."""
    return f"<small>{escape(text)}</small>" if text else ""


def link(url: str, label: str, *, kind: str = "") -> str:
    """Return a link."""
    return f'<a class="{kind}" href="{escape(url)}">{escape(label)}</a>'
