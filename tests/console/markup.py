"""What a page is made of, as a parser of HTML reads it: only what templates write, and no text that hides anything."""

import re
from collections.abc import Iterator
from functools import cache

from selectolax.lexbor import LexborHTMLParser, LexborNode

from console.rendering import TEMPLATES
from mcpist.visible_text import hidden_characters
from tests.conftest import PUBLIC_URL

OUTSIDE = "attacker.example.com"
"""The host to which payloads lead."""
ADDRESSES = {"action", "data", "formaction", "href", "poster", "src", "srcset", "xlink:href"}
KEPT = {*ADDRESSES, "value"}
"""Attributes that keep a value as it is: what a form sends must be what was stored."""
_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_OWN_ADDRESS = re.compile(r"(/(?![/\\])|#).*|", re.DOTALL)


@cache
def vocabulary() -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of all elements and attributes that the templates write."""
    tags, attributes = {"html", "head", "body", "tbody", "time"}, {"datetime"}
    for path in TEMPLATES.rglob("*.html"):
        source = _JINJA.sub(" ", path.read_text("utf-8"))
        tags |= set(re.findall(r"<([a-zA-Z][\w-]*)", source))
        for tag in re.findall(r"<[a-zA-Z][^>]*>", source):
            attributes |= set(re.findall(r"[\s\"']([a-zA-Z][\w:-]*)(?=[=\s>])", re.sub(r'"[^"]*"', '""', tag)))
    return frozenset(tag.lower() for tag in tags), frozenset(name.lower() for name in attributes)


def problems(page: str) -> list[str]:
    """Return what is in a page that no template wrote, what leads to another site, and what hides something."""
    parsed = LexborHTMLParser(page)
    root = parsed.root
    assert root is not None
    return [problem for node in root.traverse(include_text=True) for problem in _problems_of(node)]


def _problems_of(node: LexborNode) -> Iterator[str]:
    tags, names = vocabulary()
    if node.tag == "-text":
        if hidden_characters(text := node.text(deep=False)):
            yield f"hidden characters in {text!r}"
        return
    if node.tag not in tags and node.tag not in {"-comment", "-doctype", "!doctype"}:
        yield f"element {node.tag}"
    if node.tag == "script" and not re.fullmatch(r"/assets/\w+\.\w+\.js", node.attributes.get("src") or ""):
        yield f"script {node.text()}"
    for name, value in node.attributes.items():
        if name.lower() not in names:
            yield f"attribute {name} of {node.tag}"
        if (name in ADDRESSES or name.startswith("hx-")) and not _is_ours(name, value or ""):
            yield f"{node.tag} leads to {value}"
        if name not in KEPT and hidden_characters(value or ""):
            yield f"hidden characters in {name} of {node.tag}: {value!r}"
    if node.tag == "meta" and OUTSIDE in (node.attributes.get("content") or ""):
        yield "a refresh to another site"


def _is_ours(name: str, address: str) -> bool:
    if name in {"hx-trigger", "hx-swap", "hx-select", "hx-target", "hx-replace-url"}:
        return OUTSIDE not in address
    return bool(_OWN_ADDRESS.fullmatch(address)) or (
        address.startswith((f"{PUBLIC_URL}/", "https://")) and not address.startswith(f"https://{OUTSIDE}")
    )
