"""The base of all errors: its details, its texts, and its form in an answer and in a message."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from mcpist.phrases import translated
from mcpist.toml_table import read_toml

type Locale = Literal["en", "ja"]

TEXTS_FOLDER = Path(__file__).with_name("error_texts")

# The details that are sentences of ours; all others are values.
SENTENCES = frozenset({"problem", "known"})


class ErrorText(NamedTuple):
    """A message that says what happened, and a hint that says what to do; as a template or filled in."""

    message: str
    hint: str


def error_texts(locale: Locale) -> Mapping[str, Any]:
    """Return the texts of all errors in one language, each by the name of its class, and the `line_prefix`."""
    return read_toml(TEXTS_FOLDER / f"{locale}.toml")


class McpistError(Exception):
    """An error that is safe to show; its details hold no secret."""

    code: ClassVar[str]
    status: ClassVar[int]
    retryable: ClassVar[bool] = False

    def __init_subclass__(cls, *, code: str = "", status: int = 0) -> None:
        """Take the code and the HTTP status of a class; one that names none has those of the class above it."""
        super().__init_subclass__()
        if code:
            cls.code = code
        if status:
            cls.status = status

    def __init__(self, **details: Any) -> None:
        self.details = details
        super().__init__(self.text().message)

    def text(self, locale: Locale = "en") -> ErrorText:
        """Return the message and the hint in one language."""
        message, hint = self.template(locale)
        details = {name: detail_in_language(name, value, locale) for name, value in self.details.items()}
        prefix = error_texts(locale)["line_prefix"].format_map(details) if "line" in details else ""
        return ErrorText(prefix + message.format_map(details), hint.format_map(details))

    @classmethod
    def template(cls, locale: Locale) -> ErrorText:
        """Return the template of this class, or of the nearest class above it that has one."""
        texts = error_texts(locale)
        for kind in cls.__mro__:
            if kind.__name__ in texts:
                return ErrorText(**texts[kind.__name__])
        place = f"{TEXTS_FOLDER.name}/{locale}.toml"
        raise LookupError(f"no text for {cls.__name__}: add [{cls.__name__}] with a message and a hint to {place}")

    def as_dict(self, locale: Locale = "en") -> dict[str, Any]:
        """Return `{code, message, hint, details}`, with `retryable` in the details of an error that may be retried.

        It is left out if the request may have succeeded: a retry could perform it twice.
        """
        details = {name: _detail_as_dict(name, value, locale) for name, value in self.details.items()}
        if self.retryable and not self.details.get("may_have_happened"):
            details["retryable"] = True
        return {"code": self.code, **self.text(locale)._asdict(), "details": details}

    def with_details(self, **details: Any) -> Self:
        """Add details, such as the line and id of the step that failed, and return the error."""
        self.details = {**self.details, **details}
        return self


def detail_in_language(name: str, detail: Any, locale: Locale) -> Any:
    """Return a detail of an error in a language: a sentence of ours is translated."""
    if locale == "en" or name not in SENTENCES or not isinstance(detail, str):
        return detail
    return translated(detail, TEXTS_FOLDER / f"{locale}_problems.toml")


def _detail_as_dict(name: str, detail: Any, locale: Locale) -> Any:
    """Return a detail as JSON: it may be an error itself, or a list of errors or problems, such as a batch's others."""
    match detail:
        case McpistError():
            return detail.as_dict(locale)
        case list() if name == "problems":
            return [_detail_as_dict("", one, locale) for one in detail]
        case dict() if not name:
            return {inner: detail_in_language(inner, value, locale) for inner, value in detail.items()}
    return detail_in_language(name, detail, locale)


def concrete_errors(root: type[McpistError] = McpistError) -> Iterator[type[McpistError]]:
    """Iterate over the error classes that have a code, in the order of errors.py."""
    for child in root.__subclasses__():
        if hasattr(child, "code"):
            yield child
        yield from concrete_errors(child)


def problem_text(error: McpistError) -> str:
    """Return the code and the message of an error, with the step of a batch that has it."""
    step = f" (step {error.details['id']})" if "id" in error.details else ""
    return f"{error.code}: {error.text().message}{step}"


def to_message(error: McpistError) -> dict[str, Any]:
    """Return an error as one of our functions sends it to another."""
    return {"type": type(error).__name__, "details": error.details}


def from_message(message: Mapping[str, Any]) -> McpistError:
    """Return the error that another of our functions sent."""
    kinds = {kind.__name__: kind for kind in concrete_errors()}
    return kinds[message["type"]](**message["details"])
