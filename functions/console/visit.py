"""A visit: one request of a signed-in person, and how it is answered."""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from console import csrf
from console.rendering import address, render, texts
from console.sign_in.sessions import OpenSession
from mcpist.caller import Caller
from mcpist.errors import FormRefused, McpistError, StoreUnavailable
from mcpist.http.browser import BrowserRequest
from mcpist.http.front import Exchange
from mcpist.http.page import html_response, redirect
from mcpist.http.request import HttpResponse
from mcpist.http.texts import Texts
from mcpist.people.administration import Administration
from mcpist.running.accounts import BrokerAccounts
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """One page."""

    name: str
    """The key of its text in the area `frame`."""
    path: str
    administrators: bool = False


NAVIGATION = (
    NavigationEntry("home", "/"),
    NavigationEntry("workbench", "/workbench"),
    NavigationEntry("tools", "/tools"),
    NavigationEntry("batches", "/batches"),
    NavigationEntry("automations", "/automations"),
    NavigationEntry("approvals", "/approvals"),
    NavigationEntry("changes", "/changes"),
    NavigationEntry("files", "/files"),
    NavigationEntry("connections", "/connect"),
    NavigationEntry("profile", "/profile"),
    NavigationEntry("modules", "/modules", administrators=True),
    NavigationEntry("skills", "/skills", administrators=True),
    NavigationEntry("logs", "/logs", administrators=True),
    NavigationEntry("users", "/users", administrators=True),
    NavigationEntry("roles", "/roles", administrators=True),
    NavigationEntry("policies", "/policies", administrators=True),
    NavigationEntry("directory", "/directory", administrators=True),
)


DENSITIES = ("comfortable", "compact")


@dataclass(frozen=True)
class Visit(Exchange):
    """One request of a signed-in person."""

    request: BrowserRequest
    session: OpenSession
    caller: Caller
    sent: str = field(repr=False)
    """The sealed session that the browser sent."""
    refused: McpistError | None = None
    """The error of this request's form, whose page is then shown with what was typed."""

    @cached_property
    def texts(self) -> Texts:
        """The texts in the person's language."""
        return texts(self.request.language(self.caller.locale))

    @cached_property
    def reader(self) -> Caller:
        """The caller, who reads the language of the page."""
        return replace(self.caller, locale=self.texts.language)

    @cached_property
    def permissions(self) -> Permissions:
        """The catalogue as the person may use it."""
        return Permissions(self.reader, CATALOGUE)

    @cached_property
    def waiting_approvals(self) -> list[dict[str, Any]]:
        """The facts of the approvals that wait for this person's decision; a part of a page does not show them."""
        if self.request.is_partial:
            return []
        from mcpist.running import approvals

        with suppress(StoreUnavailable):  # a page that needs no ledger works without it
            return approvals.list_waiting(self.permissions)
        return []

    @property
    def administration(self) -> Administration:
        """The changes that the person may make as an administrator."""
        return Administration(self.caller, self.request_id, BrokerAccounts(self.caller))

    @property
    def is_administrator(self) -> bool:
        """Whether the person administers the organization."""
        return self.caller.system_role == "admin"

    @property
    def density(self) -> str:
        """The density of the pages, as the person chose it in this browser."""
        chosen = self.request.cookies.get(self.request.cookie_name("density"), "")
        return chosen if chosen in DENSITIES else DENSITIES[0]

    @property
    def mcp_url(self) -> str:
        """The address that people add to their MCP clients."""
        return f"{self.request.public_url}/mcp"

    @property
    def now(self) -> float:
        """The time in epoch seconds."""
        return time.time()

    def typed(self, name: str, stored: str = "") -> str:
        """Return the value of a field: as the form of this request has it, else as it is stored."""
        return self.request.form.get(name, [stored])[0]

    def is_ticked(self, name: str, value: str, *, stored: bool) -> bool:
        """Whether a box is ticked: as the form of this request has it if the form showed it, else as it is stored."""
        form = self.request.form
        return value in form.get(name, ()) if name in {*form, *form.get("boxes", ())} else stored

    def problem_of(self, name: str) -> str:
        """Return the problem of a field of the refused form; empty if it has none."""
        if self.refused is None or name != _form_field(self.refused, self.typed("id")):
            return ""
        return str(self.refused.details.get("problem") or self.refused.text(self.texts.language).message)

    def page(self, template: str, **values: Any) -> HttpResponse:
        """Return a page; its template has the visit's values besides these."""
        done = f"done.{self.request.query.get('done', '')}"
        given = {
            "visit": self,
            "person": self.caller,
            "path": self.request.path,
            "navigation": visible_entries(is_administrator=self.is_administrator),
            "csrf_token": csrf.token(self.session.id),
            "done": self.texts(done) if done in self.texts else "",
            **values,
        }
        html = render(template, self.texts, given)
        return html_response(self.request, html, status=self.refused.status if self.refused else 200)

    def redirect(self, path: str, *, done: str = "", cookies: Sequence[str] = (), **query: str) -> HttpResponse:
        """Lead to a page of ours after a change; `done` is the key of the text that the page shows about it."""
        return redirect(self.request.public_url + address(path, **query, done=done), cookies=cookies)

    def link(self, changes: Mapping[str, str | None]) -> str:
        """Return this page's address with other query parameters; None removes one, and `done` is never kept."""
        query = {name: value for name, value in self.request.query.items() if name not in {"done", "again"}}
        return address(self.request.path, **{**query, **changes})

    def use(self, module: str, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Use a tool through the gate, as every door does, and return its JSON; the form's button is the agreement."""
        from mcpist.running.confirmation import Agreement  # few pages use a tool
        from mcpist.running.gate import ToolUse, admit

        wanted = ToolUse(module, tool, arguments, self.request_id)
        return admit(self.permissions, wanted, Agreement(claimed=True)).run(self.remaining).json

    def check_form(self) -> None:
        """Refuse a form that no page of this session has sent: FormRefused."""
        if not self.request.is_from_own_page or not csrf.is_valid(self.request.form_value("csrf"), self.session.id):
            raise FormRefused(field="csrf", url=self.request.public_url)


def _form_field(error: McpistError, target: str) -> str:
    """Return the field of a form that an error is about; core names it by its path, such as `users.uma.subject`."""
    place = str(error.details.get("field", ""))
    if place in {"", f"users.{target}", f"roles.{target}"}:
        return "id" if place or error.details.get("name") == target != "" else ""
    own = place.rpartition(".")[2] if place.startswith(("users.", "roles.", "groups.")) else re.split("[.#]", place)[0]
    return {"subject": "sub", "grant_days": "days"}.get(own, own)


def visible_entries(*, is_administrator: bool) -> list[NavigationEntry]:
    """Return the entries that a person sees."""
    return [entry for entry in NAVIGATION if is_administrator or not entry.administrators]
