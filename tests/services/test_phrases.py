"""Phrases: how people ask for each tool, in the file of its service."""

from collections import Counter

from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each


@for_each("service", NAMES)
def test_each_tool_has_phrases_in_english_and_japanese_and_each_line_a_tool(service: str) -> None:
    phrases, tools = CATALOGUE.phrases[service], set(CATALOGUE.module(service).tools)
    assert phrases.keys() - tools == set(), "tools that do not exist"
    assert tools - phrases.keys() == set(), f"add phrases to {service}/phrases.toml"
    assert [name for name, said in phrases.items() if len(set(map(str.isascii, said))) < 2] == [], (
        "in one language only"
    )


@for_each("service", NAMES)
def test_no_phrase_stands_twice_in_a_service(service: str) -> None:
    said = Counter(phrase.lower() for phrases in CATALOGUE.phrases[service].values() for phrase in phrases)
    assert [phrase for phrase, times in said.items() if times > 1] == []
