"""Translations: which texts they change, and how a module's file is read."""

from pathlib import Path

from mcpist.tools.search.translation import UNTRANSLATED, Translation, read_translation, split_example

JAPANESE = Translation("ja", {"Read one event.": "予定を読む。", "Its id": "予定の id", "Or a URL.": "URL でもよい。"})


def test_a_description_is_translated_and_its_example_is_kept() -> None:
    assert JAPANESE.text("Read one event.") == "予定を読む。"
    assert JAPANESE.text("Its id, e.g. 7k3, as shown") == "予定の id、例: 7k3, as shown"
    assert JAPANESE.text("e.g. 2026-01-31") == "例: 2026-01-31"


def test_each_paragraph_has_a_line_of_its_own_however_it_is_wrapped() -> None:
    assert JAPANESE.text("Read one event.\n\nOr a\nURL.") == "予定を読む。\n\nURL でもよい。"


def test_a_description_without_a_line_stays_english() -> None:
    assert JAPANESE.text("Its name, e.g. Lunch") == "Its name, e.g. Lunch"
    assert UNTRANSLATED.text("Its id, e.g. 7k3") == "Its id, e.g. 7k3"


def test_a_schema_is_translated_at_any_depth_and_data_in_it_is_not() -> None:
    schema = {
        "properties": {
            "description": {"type": "string", "description": "Its id", "default": "Its id"},
            "items": {"type": "array", "items": {"anyOf": [{"description": "Its id", "enum": ["Its id"]}]}},
        }
    }
    assert JAPANESE.schema(schema) == {
        "properties": {
            "description": {"type": "string", "description": "予定の id", "default": "Its id"},
            "items": {"type": "array", "items": {"anyOf": [{"description": "予定の id", "enum": ["Its id"]}]}},
        }
    }
    assert UNTRANSLATED.schema(schema) is schema


def test_the_example_is_what_the_last_mark_begins() -> None:
    assert split_example("A date, e.g. in a zone, e.g. 2026-01-31") == ("A date, e.g. in a zone", "2026-01-31")
    assert split_example("A\n  date") == ("A date", "")


def test_a_module_without_a_file_is_not_translated(tmp_path: Path) -> None:
    assert read_translation(tmp_path, "ja") is UNTRANSLATED
    (tmp_path / "ja.toml").write_text('[descriptions]\n"Its id" = "予定の id"', "utf-8")
    assert read_translation(tmp_path, "ja").text("Its id") == "予定の id"
    assert "一覧" in read_translation(tmp_path, "ja").text("Go on where a cut list ended: its answer says the cursor")
