"""A change of the organization, shown before it is made: who gains and loses what, and what it takes away."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.people.administration import AppliedChange
from mcpist.people.change import ChangeOptions
from mcpist.people.edits import Edit
from mcpist.tools.access.effects import describe_change
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.registered.states import ToolState


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field before and after a change: a list, or a value as the list of itself."""

    path: str
    """Such as `users.uma.roles`."""
    added: Sequence[str]
    removed: Sequence[str]
    kept: Sequence[str] = ()
    is_reordered: bool = False
    """Whether only the order differs: `kept` then has the new one."""

    @property
    def field(self) -> str:
        """The last part of the path, by which a text names the field."""
        return self.path.rpartition(".")[2]


VERSION_FIELD = "reviewed"
"""The field of a form that names the version of the organization whose change the administrator has seen."""


def review(visit: Visit, action: str, target: str, edit: Edit, *, back: str, done: str) -> HttpResponse:
    """Show what a change would do; where the form confirms what was shown, make it and lead `back`.

    A removed user's or role's accounts are revoked with it: the page names them.
    """
    reviewed = visit.request.form_value(VERSION_FIELD)
    options = ChangeOptions(dry_run=not reviewed, expected_version=_version(reviewed), with_grants=True)
    applied = visit.administration.change(action, target, edit, options)
    if reviewed:
        return visit.redirect(back, done=done)
    if not applied.change.differences():
        return visit.redirect(back, done="unchanged")
    return show_review(visit, applied, action, target, back=back)


def show_review(
    visit: Visit, applied: AppliedChange, action: str, target: str, *, back: str, tools: Sequence[ToolState] = ()
) -> HttpResponse:
    """Show what a change would do, with a form that sends it again as reviewed; `tools` are those that it brings."""
    report = describe_change(applied, CATALOGUE)
    fields_changed = [one for change in report["changes"] for one in differences(**change)]
    # Without the token: each page has its own.
    sent = [(name, value) for name, values in visit.request.form.items() if name != "csrf" for value in values]
    fields = [*sent, (VERSION_FIELD, str(applied.change.version))]
    return visit.page(
        "organization/review.html",
        report=report,
        differences=fields_changed,
        fields=fields,
        back=back,
        tools=tools,
        action=action.replace(".", "_"),
        target=target,
    )


def differences(path: str, before: Any, after: Any) -> Iterator[FieldDifference]:
    """Yield the fields that differ between two values; a mapping's are those of its own, in one order."""
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        old, new = before or {}, after or {}
        for name in dict.fromkeys((*old, *new)):
            yield from differences(f"{path}.{name}", old.get(name), new.get(name))
    elif isinstance(before, list | tuple) or isinstance(after, list | tuple):
        old, new = [str(one) for one in before or ()], [str(one) for one in after or ()]
        added, removed = [one for one in new if one not in old], [one for one in old if one not in new]
        if old != new:
            kept = [one for one in new if one in old]
            yield FieldDifference(path, added, removed, kept, is_reordered=not added and not removed)
    elif (before or "") != (after or ""):
        added, removed = ([] if one in {None, ""} else [_word(one)] for one in (after, before))
        yield FieldDifference(path, added, removed)


def _word(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _version(text: str) -> int | None:
    if text and not text.isdecimal():
        raise InvalidRequest(field=VERSION_FIELD, problem="it is no version")
    return int(text) if text else None
