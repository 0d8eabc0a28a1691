"""The results of a batch's steps, as the batch's own user reads them: the compact answer, or the file that holds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header
from mcpist.errors import Locale, from_message
from mcpist.files import access
from mcpist.files.answers import content_of
from mcpist.files.content import FileContent
from mcpist.render.answer import compact, compact_each, compact_json
from mcpist.render.contents import split_content
from mcpist.render.tokens import estimate_tokens
from mcpist.tools.permissions import Permissions

MAX_SHOWN_CHARACTERS = 6_000
"""Of one result on a page; the rest is in the file."""
MAX_PREVIEW_CHARACTERS = 12_000
"""Of all results on a page together."""
MAX_LISTED_FAILURES = 20


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A result as a page shows it."""

    text: str
    tokens: int
    """About how many tokens the whole text has."""
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a step or of one of its elements."""

    code: str
    message: str
    hint: str = ""
    element: int | None = None


def result_of(head: Header, entry: Entry, permissions: Permissions, characters: int) -> ShownResult | None:
    """Return a step's compact result; None where it has none. It may be read from the bucket."""
    if entry.result is None:
        return None
    text = _text(entry, ledger.load_json(head, entry.result), permissions)
    return ShownResult(text[:characters], estimate_tokens(text), len(text) > characters)


def inline_results(
    head: Header, entries: Sequence[Entry], permissions: Permissions
) -> Sequence[tuple[Entry, ShownResult | None]]:
    """Return the steps whose results their lines ask for; those in the bucket are not read here, and have None."""
    asked = [entry for entry in entries if entry.result and (entry.step.output or entry.step.raw_output)]
    share = min(MAX_PREVIEW_CHARACTERS // max(1, len(asked)), MAX_SHOWN_CHARACTERS)
    return [
        (entry, None if entry.result and entry.result.file else result_of(head, entry, permissions, share))
        for entry in asked
    ]


def file_content(head: Header, entry: Entry, permissions: Permissions) -> FileContent:
    """Return what the file of a step's result holds."""
    step = entry.step
    raw = ledger.load_json(head, entry.result)
    shows = permissions.catalogue.shows(step.module, step.tool)
    if not step.each and (stored := shows.stored_file(raw)):
        file, content = access.load(permissions.caller, stored)
        return FileContent(content, file.content_type)
    return content_of(raw, shows, each=bool(step.each), raw_output=step.raw_output)


def failures(entry: Entry, locale: Locale) -> Sequence[Failure]:
    """Return the errors of a step and of its elements."""
    found = []
    if entry.error is not None:
        fields = from_message(entry.error).as_dict(locale)
        found.append(Failure(fields["code"], fields["message"], fields["hint"]))
    for number, element in enumerate(entry.statuses or ()):
        if error := element.get("error"):
            found.append(Failure(error["code"], error["message"], element=number))
    return found[: MAX_LISTED_FAILURES + 1]


def _text(entry: Entry, raw: Any, permissions: Permissions) -> str:
    """Return what a model would read of a result; blocks that are not text are left out."""
    step = entry.step
    value = [split_content(one)[0] for one in raw or ()] if step.each else split_content(raw)[0]
    if value is None:
        return ""
    if step.raw_output:
        return compact_json(value)
    shows = permissions.catalogue.shows(step.module, step.tool)
    return compact_each(value, shows) if step.each else compact(value, shows)
