"""A service's own words about a failure, wherever it puts them."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

MAX_MESSAGE_CHARACTERS = 500
MAX_PHRASES = 20
MIN_SECRET_CHARACTERS = 4

# What services write for people: Notion, GitHub and Supabase `message`, Supabase's login `msg`, OAuth
# `error_description`, Confluence `title` and `detail`, PostgREST `details` and `hint`.
_MESSAGE_FIELDS = ("message", "msg", "error_description", "title", "detail", "details", "hint", "error")
# And for programs: Notion, GitHub, Graph, PostgREST and Confluence `code`, Google `reason`.
_CODE_FIELDS = ("code", "reason")
# Jira says what is wrong with a whole issue, then with each field; GitHub, Google and Confluence list theirs.
_LIST_FIELDS = ("errorMessages", "errors")


def parse_json(body: bytes) -> Any:
    """The JSON of a refusal; None where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def error_message(found: Any, secrets: Iterable[str] = ()) -> str:
    """One line for people, without secrets that the service repeats; empty where it says nothing."""
    try:
        phrases = list(dict.fromkeys(islice(_phrases(found), MAX_PHRASES)))
        whole = json.dumps(found, ensure_ascii=False) if found and not phrases else ""
    except RecursionError:
        return ""
    distinct = [phrase for phrase in phrases if not any(phrase != other and phrase in other for other in phrases)]
    line = "; ".join(distinct) or whole
    for secret in secrets:
        if len(secret) >= MIN_SECRET_CHARACTERS:
            line = line.replace(secret, "...")
    return line[:MAX_MESSAGE_CHARACTERS].encode(errors="replace").decode()


def google_reasons(found: Any) -> set[str]:
    """Google's names for what went wrong: `error.errors[].reason` and `error.details[].reason`."""
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict):
        return set()
    lists = [error[name] for name in ("errors", "details") if isinstance(error.get(name), list)]
    return {str(item.get("reason")) for some in lists for item in some if isinstance(item, dict)}


def _phrases(found: Any) -> Iterator[str]:
    match found:
        case str():
            yield found
        case list():
            for item in found:
                yield from _phrases(item)
        case {"error": dict() as error}:
            yield from _phrases(error)
        case dict():
            yield from _own(found)
            for name in _LIST_FIELDS:
                yield from _listed(found.get(name))


def _own(found: dict[str, Any]) -> Iterator[str]:
    """What an object says itself: `title: is required (missing_field)`."""
    texts = [found[name] for name in _MESSAGE_FIELDS if isinstance(found.get(name), str) and found[name]]
    code = next((found[name] for name in _CODE_FIELDS if isinstance(found.get(name), str)), "")
    line = "; ".join(texts)
    if code and code not in line:
        line = f"{line} ({code})" if line else code
    field = found.get("field")
    if line:
        yield f"{field}: {line}" if isinstance(field, str) else line


def _listed(found: Any) -> Iterator[str]:
    if not isinstance(found, dict):
        yield from _phrases(found)
        return
    for field, problem in found.items():
        for phrase in _phrases(problem):
            yield f"{field}: {phrase}"
