"""Phrases: how people ask for each tool, in the files of words of its service."""

from collections import Counter

from mcpist.errors import Locale
from mcpist.tools.search.words import LOCALES, read_words
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each

CASES = {f"{service}/{locale}.toml": (service, locale) for service in NAMES for locale in LOCALES}


def phrases_of(service: str, locale: Locale) -> dict[str, list[str]]:
    found: dict[str, list[str]] = read_words(CATALOGUE.folder / service, locale)["phrases"]
    return found


@for_each(("service", "locale"), CASES)
def test_each_tool_has_phrases_in_english_and_japanese_and_each_line_a_tool(service: str, locale: Locale) -> None:
    phrases, tools = phrases_of(service, locale), set(CATALOGUE.module(service).tools)
    assert phrases.keys() - tools == set(), (
        f"tools that do not exist: take them out of [phrases] in {service}/{locale}.toml"
    )
    assert tools - phrases.keys() == set(), f"add them to [phrases] in {service}/{locale}.toml"


@for_each(("service", "locale"), CASES)
def test_phrases_and_synonyms_are_in_the_language_of_their_file(service: str, locale: Locale) -> None:
    said = [phrase for phrases in phrases_of(service, locale).values() for phrase in phrases]
    for synonyms in read_words(CATALOGUE.folder / service, locale)["synonyms"]:
        said += synonyms.split(", ")
    assert [phrase for phrase in said if phrase.isascii() is not (locale == "en")] == []


@for_each(("service", "locale"), CASES)
def test_no_phrase_stands_twice_in_a_service(service: str, locale: Locale) -> None:
    said = Counter(phrase.lower() for phrases in phrases_of(service, locale).values() for phrase in phrases)
    assert [phrase for phrase, times in said.items() if times > 1] == []
