"""The texts of the pages: complete in both languages, and used as they are declared."""

import re
from pathlib import Path
from string import Formatter
from typing import get_args

from console.rendering import TEMPLATES, compile_all, texts
from mcpist.tools.declare.module import ModuleKind
from tests.faults import for_each

ROOT = Path(__file__).parents[2]
ENGLISH, JAPANESE = texts("en"), texts("ja")
DYNAMIC = {
    "done.",
    "error.",
    "frame.",
    "connect.",
    "home.state_",
    "home.alarm_",
    "home.first_",
    "home.first_note_",
    "home.limit_",
    "home.measure_",
    "profile.place_",
}
DYNAMIC |= {"workbench.is_", "approvals.state_", "batches.state_", "batches.batch_", "batches.effect_"}
DYNAMIC |= {"tools.", "tools.effect_", "tools.why_", "tools.verdict_", "tools.actor_", "tools.role_says_"}
DYNAMIC |= {
    "done.tool_",
    "join.",
    "organization.",
    "organization.field_",
    "users.acceptance_",
    "users.acceptance_note_",
}
DYNAMIC |= {"automations.run_", "automations.state_"}
DYNAMIC |= {"roles.", "roles.tab_", "roles.effect_", "roles.use_", "roles.bulk_", "modules.source_", "modules.state_"}
"""Beginnings of keys that templates complete from values."""


def quoted_words(folders: list[Path]) -> set[str]:
    """Return the words between quotation marks; an action such as `users.create` also as `users_create`."""
    files = (path for folder in folders for kind in ("*.py", "*.html") for path in folder.rglob(kind))
    found = {word for path in files for word in re.findall(r"""["'>]([A-Za-z_.-]+)["'<&]""", path.read_text("utf-8"))}
    return found | {word.replace(".", "_") for word in found}


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_both_languages_have_the_same_texts_with_the_same_fields() -> None:
    assert set(ENGLISH.texts) == set(JAPANESE.texts)
    different = [key for key, text in ENGLISH.texts.items() if fields(text) != fields(JAPANESE.texts[key])]
    assert different == []


def test_every_kind_of_module_has_a_text() -> None:
    kinds = get_args(ModuleKind.__value__)
    assert [kind for kind in kinds if f"modules.source_{kind}" not in ENGLISH.texts] == []


def test_a_number_of_one_has_its_own_text() -> None:
    assert [ENGLISH("logs.days", days=days) for days in (1, 7)] == ["Last 1 day", "Last 7 days"]
    assert [ENGLISH("batches.settled", settled=1, total=total) for total in (1, 3)] == ["1 of 1 step", "1 of 3 steps"]


def test_no_japanese_text_was_left_in_english() -> None:
    same = {key for key, text in ENGLISH.texts.items() if text == JAPANESE.texts[key]}
    assert same == set()


def test_no_text_is_unused() -> None:
    """A key is written in the console, or is a beginning that is completed by a word of the product."""
    own = quoted_words([TEMPLATES.parent])
    rest = [key for key in ENGLISH.texts if key.removesuffix("_one") not in own]
    every = quoted_words([ROOT / "functions", ROOT / "layers/core", ROOT / "layers/services"])
    completed = {begin + word for begin in DYNAMIC for word in every if begin + word in ENGLISH.texts}
    assert {key.removesuffix("_one") for key in rest} - completed == set()


@for_each("path", {str(path.relative_to(TEMPLATES)): path for path in sorted(TEMPLATES.rglob("*.html"))})
def test_a_template_uses_only_texts_that_exist(path: object) -> None:
    source = path.read_text("utf-8")  # type: ignore[attr-defined]
    used = set(re.findall(r"""\bt\(["']([a-z_.]+)["'](?!\s*~)""", source))
    begun = set(re.findall(r"""\bt\(["']([a-z_.]+)["']\s*~""", source))
    assert used - set(ENGLISH.texts) == set()
    assert begun <= DYNAMIC
    assert "| safe" not in source, "nothing that enters a page is markup"


def test_every_template_compiles() -> None:
    compile_all()


def test_each_kind_of_module_has_a_text() -> None:
    kinds = get_args(ModuleKind.__value__)
    assert {f"modules.source_{kind}" for kind in kinds} <= {*ENGLISH.texts} & {*JAPANESE.texts}
