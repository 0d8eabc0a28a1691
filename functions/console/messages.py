"""A page that is only a message, for people who may not be signed in."""

from collections.abc import Iterable, Sequence
from typing import Any

from console import rendering
from console.http.request import Request
from console.http.response import html_response
from console.texts import texts
from mcpist.http.request import HttpResponse


def show(
    request: Request,
    heading: str,
    text: str,
    actions: Iterable[tuple[str, str]],
    *,
    status: int = 200,
    cookies: Sequence[str] = (),
) -> HttpResponse:
    """Return a page of texts' keys; an action is the key of its text and its address."""
    t = texts(request.language())
    links = [(t(key), url) for key, url in actions]
    return message_page(request, t(heading), t(text), links, status=status, cookies=cookies)


def message_page(
    request: Request,
    heading: str,
    text: str,
    actions: Iterable[tuple[str, str]],
    *,
    hint: str = "",
    who: str = "",
    code: str = "",
    status: int = 200,
    cookies: Sequence[str] = (),
) -> HttpResponse:
    """Return a page of texts; `who` says who must act, `code` is an error's."""
    values = {"heading": heading, "text": text, "hint": hint, "who": who, "code": code, "actions": list(actions)}
    html = rendering.render("message.html", texts(request.language()), values)
    return html_response(request, html, status=status, cookies=cookies)


def show_template(request: Request, template: str, **values: Any) -> HttpResponse:
    """Return another page for people who may not be signed in."""
    return html_response(request, rendering.render(template, texts(request.language()), values))
