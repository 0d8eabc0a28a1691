"""A browser's request: the HTTP request and the fields of a form in it."""

import re
from functools import cached_property
from urllib.parse import parse_qs, urlencode

from mcpist.errors import InvalidRequest, Locale
from mcpist.http.request import HttpRequest

MAX_FORM_BYTES = 64_000
MAX_FORM_FIELDS = 300
START_PAGE = "/"
OWN_PATH = re.compile(r"/((?!mcp\b|v1\b)[a-z][a-z0-9_-]*(/[!-~]*)?)?(\?[!-~]*)?")
"""A path with a query that leads to a page of ours and to no other site."""


class BrowserRequest(HttpRequest):
    """A browser's request; `form` has all values of each field."""

    @property
    def id(self) -> str:
        """The id that API Gateway gave the request."""
        return str(self.event.get("requestContext", {}).get("requestId", ""))

    @property
    def is_https(self) -> bool:
        """Whether browsers reach us by https; on this machine they may not."""
        return self.public_url.startswith("https://")

    @property
    def target(self) -> str:
        """The path and the query, to come back to after a login."""
        query = {name: value for name, value in self.query.items() if name not in {"again", "done"}}
        return f"{self.path}?{urlencode(query)}" if query else self.path

    @property
    def is_partial(self) -> bool:
        """Whether a script of ours asks for a part of a page."""
        return self.headers.get("hx-request") == "true"

    @property
    def accepts_html(self) -> bool:
        """Whether the client prefers a page: browsers name `text/html`, and before any type of JSON."""
        accepted = self.headers.get("accept", "").lower()
        html, json = accepted.find("text/html"), accepted.find("json")
        return html >= 0 and (json < 0 or html < json)

    def language(self, default: Locale = "en") -> Locale:
        """Return the language that the person chose here, else the browser's, else the default."""
        chosen = self.cookies.get(self.cookie_name("language"), "")
        return "ja" if chosen == "ja" else "en" if chosen == "en" else self.locale(default)

    @property
    def is_from_own_page(self) -> bool:
        """Whether a page of ours sends a form: a browser names the page's origin."""
        return self.headers.get("origin", "") == self.public_url

    def cookie_name(self, name: str) -> str:
        """Return the name of a cookie of ours."""
        return f"__Host-mcpist-{name}" if self.is_https else f"mcpist-{name}"

    def set_cookie(self, name: str, value: str, seconds: int) -> str:
        """Return the `set-cookie` header of a cookie of ours, which no script reads and no other site's form sends."""
        secure = "; Secure" if self.is_https else ""
        return f"{self.cookie_name(name)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"

    @cached_property
    def form(self) -> dict[str, list[str]]:
        """The fields of the form that is sent, empty ones included."""
        body = self.body(MAX_FORM_BYTES)
        try:
            return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
        except ValueError:
            raise InvalidRequest(field="form", problem="it cannot be read") from None

    def form_value(self, name: str) -> str:
        """Return the only value of a field, empty if it is not in the form."""
        values = self.form.get(name, [""])
        if len(values) != 1:
            raise InvalidRequest(field=name, problem="it is there more than once")
        return values[0]
