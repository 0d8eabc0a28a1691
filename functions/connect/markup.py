"""The small pieces that pages are made of; everything that is filled in is escaped."""

from collections.abc import Mapping
from html import escape
from urllib.parse import quote


def form(service: str, content: str, *, kind: str = "", **fields: str) -> str:
    """A form that is sent to a service's page, with what it carries along."""
    place = f"/connect/{quote(service, safe='')}"
    return f'<form method="post" class="{kind}" action="{place}">{hidden(fields)}{content}</form>'


def hidden(fields: Mapping[str, str]) -> str:
    """What a form carries along unseen."""
    return "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in fields.items()
    )


def group(legend: str, content: str, *, kind: str = "") -> str:
    """Choices under one question."""
    return f'<fieldset class="{kind}"><legend>{escape(legend)}</legend>{content}</fieldset>'


def choice(kind: str, name: str, value: str, label: str, more: str = "", *, checked: bool = False) -> str:
    """A radio button or a checkbox with what it means."""
    mark = " checked" if checked else ""
    return (
        f'<label class="choice"><input type="{kind}" name="{name}" value="{escape(value)}"{mark}>'
        f"<span>{escape(label)}{small(more)}</span></label>"
    )


def small(text: str) -> str:
    """A side remark, or nothing."""
    return f"<small>{escape(text)}</small>" if text else ""


def link(url: str, label: str, *, kind: str = "") -> str:
    """A way to go."""
    return f'<a class="{kind}" href="{escape(url)}">{escape(label)}</a>'
