"""Arguments of a tool as words of a command line, typed by the tool's schema."""

from typing import Any

import pytest

from infra.cli.document import CommandError
from infra.cli.main import run
from infra.cli.tools import typed_arguments
from tests.infra.cli.fake_endpoint import serving_scenes

SCHEMA: dict[str, Any] = {
    "$defs": {"Level": {"type": "integer"}},
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer"},
        "share": {"type": "number"},
        "draft": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "filter": {"type": "object"},
        "level": {"$ref": "#/$defs/Level"},
        "parent": {"anyOf": [{"type": "integer"}, {"type": "null"}, {"type": "string"}]},
        "any": {},
    },
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("query=broker", "broker"),
        ("query=3", "3"),
        ("query=a=b", "a=b"),
        ("query=", ""),
        ("limit=3", 3),
        ("limit=three", "three"),
        ("limit=true", "true"),
        ("share=0.5", 0.5),
        ("draft=true", True),
        ("draft=yes", "yes"),
        ("tags=ops,security", ["ops", "security"]),
        ('tags=["a,b"]', ["a,b"]),
        ("numbers=1,2", [1, 2]),
        ('filter={"a": 1}', {"a": 1}),
        ("filter=a", "a"),
        ("level=2", 2),
        ("parent=7", 7),
        ("parent=null", None),
        ("parent=page", "page"),
        ("any=3", "3"),
        ("unknown=3", "3"),
    ],
)
def test_a_value_has_the_type_of_the_schema_and_what_it_cannot_be_stays_a_text(word: str, value: object) -> None:
    assert typed_arguments([word], SCHEMA) == {word.partition("=")[0]: value}


@pytest.mark.parametrize("word", ["broker", "=broker"])
def test_a_word_that_is_no_argument_is_refused_with_the_form(word: str) -> None:
    with pytest.raises(CommandError, match="is no argument") as refused:
        typed_arguments([word], SCHEMA)
    assert refused.value.error["hint"].startswith("Write NAME=VALUE")


def test_a_call_can_be_shown_instead_of_run() -> None:
    with serving_scenes() as stage:
        line = ["call", "rag", "search_docs", "--params", '{"query": "a"}', "--url", stage.url, "--token", "t"]
        assert run([*line, "--dry-run"]) == run(line) == 0
    assert [asked.get("dry_run") for asked in stage.asked] == [True, None]
