"""Error messages: a service's text about a failure, from the fields that services usually put it in."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from mcpist.tools.declare.dialect import HTTP_STANDARD, Refusals

MAX_MESSAGE_CHARACTERS = 500
MAX_PHRASES = 20
MIN_SECRET_CHARACTERS = 4

# For people: `title` and `detail` of RFC 9457, `error_description` of OAuth.
_MESSAGE_FIELDS = ("message", "error_description", "title", "detail", "error")
_CODE_FIELDS = ("code",)
_LIST_FIELDS = ("errors",)


def error_message(content: Any, secrets: Iterable[str] = (), fields: Refusals = HTTP_STANDARD) -> str:
    """Return one line for people, without secrets that the service repeats; empty where the content says nothing."""
    try:
        phrases = list(dict.fromkeys(islice(_Phrases(fields).of(content), MAX_PHRASES)))
        whole = json.dumps(content, ensure_ascii=False) if content and not phrases else ""
    except RecursionError:
        return ""
    distinct = [phrase for phrase in phrases if not any(phrase != other and phrase in other for other in phrases)]
    line = " ".join(("; ".join(distinct) or whole).splitlines())  # a further one would read as a line of ours
    for secret in secrets:
        if len(secret) >= MIN_SECRET_CHARACTERS:
            line = line.replace(secret, "...")
    return line[:MAX_MESSAGE_CHARACTERS].encode(errors="replace").decode()


class _Phrases:
    """The phrases of an error's JSON, by the usual fields and those of one service."""

    def __init__(self, fields: Refusals) -> None:
        self._messages = _MESSAGE_FIELDS + fields.message_fields
        self._codes = _CODE_FIELDS + fields.code_fields
        self._lists = fields.list_fields + _LIST_FIELDS

    def of(self, content: Any) -> Iterator[str]:
        match content:
            case str():
                yield content
            case list():
                for item in content:
                    yield from self.of(item)
            case {"error": dict() as error}:
                yield from self.of(error)
            case dict():
                yield from self._own(content)
                for name in self._lists:
                    yield from self._listed(content.get(name))

    def _own(self, content: dict[str, Any]) -> Iterator[str]:
        """Yield the object's own phrase: `title: is required (missing_field)`."""
        texts = [content[name] for name in self._messages if isinstance(content.get(name), str) and content[name]]
        code = next((content[name] for name in self._codes if isinstance(content.get(name), str)), "")
        line = "; ".join(texts)
        if code and code not in line:
            line = f"{line} ({code})" if line else code
        field = content.get("field")
        if line:
            yield f"{field}: {line}" if isinstance(field, str) else line

    def _listed(self, problems: Any) -> Iterator[str]:
        if not isinstance(problems, dict):
            yield from self.of(problems)
            return
        for field, problem in problems.items():
            for phrase in self.of(problem):
                yield f"{field}: {phrase}"
