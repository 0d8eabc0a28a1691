"""Names in Confluence with a meaning in Markdown, and descriptions of what Markdown cannot express."""

from collections.abc import Iterable, Mapping

from mcpist.markdown.tree import Paragraph, Run, TextRun, Unsupported
from mcpist_services.confluence.markup import Element

MAX_LOST_CHARACTERS = 200  # of the description of a lost part

PANELS = {"expand", "info", "note", "panel", "tip", "warning"}
# Parameters of macros that change only their looks.
APPEARANCE_PARAMETERS = {"breakoutMode", "breakoutWidth", "collapse", "firstline", "icon", "linenumbers", "theme"}
EMOTICONS = {
    "smile": "🙂",
    "sad": "🙁",
    "cheeky": "😛",
    "laugh": "😁",
    "wink": "😉",
    "thumbs-up": "👍",
    "thumbs-down": "👎",
    "information": "ℹ️",  # noqa: RUF001
    "tick": "✅",
    "cross": "❌",
    "warning": "⚠️",
    "plus": "➕",  # noqa: RUF001
    "minus": "➖",  # noqa: RUF001
    "question": "❓",
    "light-on": "💡",
    "yellow-star": "⭐",
    "heart": "❤️",
    "broken-heart": "💔",
}


def named(name: str, parameters: Mapping[str, str]) -> str:
    """Describe a lost part with its parameters, e.g. `status macro: title=DONE, colour=Green`."""
    return words(name, [f"{key}={value}" if key else value for key, value in parameters.items() if value])


def words(name: str, values: Iterable[str]) -> str:
    """Describe a lost part by its name and these values, in one short line."""
    line = " ".join(", ".join(value for value in values if value).split())
    short = line if len(line) <= MAX_LOST_CHARACTERS else f"{line[:MAX_LOST_CHARACTERS]}..."
    return f"{name}: {short}" if short else name


def text_or_names(element: Element) -> str:
    """Return an element's text, or else the names of the resources in it."""
    inner = [element, *element.elements]
    values = [value for each in inner for name, value in each.attributes.items() if name.startswith("ri:")]
    return element.text.strip() or " ".join(values)


def parameters_of(macro: Element) -> dict[str, str]:
    """Return a macro's parameters."""
    inner = [element for element in macro.elements if element.name == "ac:parameter"]
    return {element.attributes.get("ac:name", ""): text_or_names(element) for element in inner}


def panel(name: str, parameters: Mapping[str, str]) -> Paragraph:
    """Return the first line of the quote that represents a panel."""
    title = parameters.get("title", "")
    others = {word: value for word, value in parameters.items() if word != "title"}
    runs: list[Run] = [TextRun(f"[!{name}] ")]
    runs += [TextRun(title, frozenset({"strong"})), TextRun(" ")] if title else []
    return Paragraph((*runs, *lost_of(name, others)))


def lost_of(name: str, parameters: Mapping[str, str]) -> tuple[Unsupported, ...]:
    """Describe a macro's parameters that Markdown cannot express, except those for its looks."""
    others = {word: value for word, value in parameters.items() if word not in APPEARANCE_PARAMETERS}
    return (Unsupported(named(f"{name} macro", others)),) if others else ()
