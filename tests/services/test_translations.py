"""Japanese descriptions: a line for each English one, in the file of its service.

Run this file as a script to see the lines that are missing: `python -m tests.services.test_translations`.
"""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mcpist.tools.declare.module import Module
from mcpist.tools.search.index import ModuleEntry
from mcpist.tools.search.translation import split_example
from mcpist.tools.search.words import SHARED, read_words
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each

FILE = "ja.toml"
JAPANESE = re.compile("[ぁ-んァ-ヶ一-龠]")
NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")  # of a tool or a parameter, as it stays in all languages
MAX_LONGER = 1.0
"""Characters of the Japanese texts of a service for each of the English ones: tokens count."""


@for_each("service", NAMES)
def test_each_description_has_a_japanese_line_and_each_line_a_description(service: str) -> None:
    shown, written = set(english_texts(service)), set(lines(CATALOGUE.folder / service)) | set(shared_lines())
    missing, unused = missing_lines(service), written - shown - set(shared_lines())
    assert not missing, f"add to [descriptions] in {service}/{FILE}:\n{missing}"
    assert not unused, f"no description says this any more, take it out of {service}/{FILE}: {unused}"


@for_each("service", NAMES)
def test_japanese_lines_are_japanese_and_keep_the_names_of_tools_and_parameters(service: str) -> None:
    for english, japanese in lines(CATALOGUE.folder / service).items():
        assert JAPANESE.search(japanese), english
        assert set(NAME.findall(japanese)) == set(NAME.findall(english)), english


@for_each("service", NAMES)
def test_japanese_lines_are_short(service: str) -> None:
    found = lines(CATALOGUE.folder / service)
    assert sum(map(len, found.values())) <= MAX_LONGER * sum(map(len, found))


def english_texts(service: str) -> Iterator[str]:
    """Yield all that the module's descriptions say in English, each without its example."""
    module = CATALOGUE.module(service)
    for text in _descriptions(module):
        for paragraph in text.split("\n\n"):
            if key := split_example(paragraph)[0]:
                yield key


def missing_lines(service: str) -> str:
    """Return the lines that a service's file lacks, as they are written there."""
    known = lines(CATALOGUE.folder / service) | shared_lines()
    missing = dict.fromkeys(text for text in english_texts(service) if text not in known)
    return "".join(f'{json.dumps(text, ensure_ascii=False)} = ""\n' for text in missing)


@cache
def shared_lines() -> dict[str, str]:
    """Return the lines of the parameters that all services have."""
    return lines(SHARED)


def lines(folder: Path) -> dict[str, str]:
    """Return the descriptions in a folder's file; none where there is no such file."""
    return dict(read_words(folder, "ja").get("descriptions", {}))


def _descriptions(module: Module) -> Iterator[str]:
    entry = ModuleEntry.of(module)
    yield entry.description
    for tool in module.tools.values():
        yield entry.tools[tool.name].summary
        yield tool.description
        yield tool.irreversible
        yield tool.costs
        yield from _descriptions_in(tool.input_schema)
    for material in entry.materials:
        yield material.description
    for prompt in entry.prompts.values():
        yield from (argument["description"] for argument in prompt.arguments if "description" in argument)


def _descriptions_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _descriptions_in(item)
    elif isinstance(schema, dict):
        for keyword, value in schema.items():
            match keyword:
                case "description":
                    yield value
                case "properties":
                    yield from _descriptions_in(list(value.values()))
                case _:
                    yield from _descriptions_in(value)


if __name__ == "__main__":
    for name in NAMES:
        sys.stdout.write(f"# {name}\n{missing_lines(name)}\n")
