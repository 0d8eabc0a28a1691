"""Overlay files, which people correct: read, written, compiled, and imported again without losing a correction.

Each import leaves a fingerprint of every value that it proposed. A value with another fingerprint is a correction.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from mcpist.bounded_yaml import plain_value
from mcpist.tools.search.index import Index
from mcpist_services import NAMES, provider_name
from mcpist_services.definitions import load_definition
from mcpist_services.described.compiled import ACCOUNTS_FILE, API_INDEX_FILE, EVENTS_FILE
from mcpist_services.described.module import module
from mcpist_services.described.overlay import Overlay, ToolRule, load_overlay
from mcpist_services.described.wording import listed

MAX_OVERLAY_BYTES = 16_000_000
OVERLAY_HEADER = """\
# yaml-language-server: $schema=../apis.schema.json
# {title} as a module, written by `mcpist api import`. Correct it as you like: the next import keeps your corrections.
# docs/apis.md explains it. No secret belongs here: keys are connected like any other account.
"""
MAX_FLOW_CHARACTERS = 110
WHOLE = ""  # the key of the fields that belong to no operation
REMOVED = "removed by hand"

# What people read and correct comes first.
_FIRST = ("name", "title", "description", "version", "source", "host", "security", "review", "tools", "left_out")
_ABOUT = ("title", "description", "host", "security", "rate_limits", "category", "tags", "webhooks")
_WHOLE_FIELDS = (*_ABOUT, "noise", "review", "hooks")
_COMPARED = (*_ABOUT, "version")
_COMPARED_OF_TOOLS = listed(
    "description effect reveals secrets content_type download document headers rows shows paging scopes"
)


def load_file(file: Path) -> Overlay:
    """Return the overlay of a file; InvalidRequest names the file and the field that is wrong."""
    return load_definition(Overlay, file, MAX_OVERLAY_BYTES, provider_names())


def load_folder(folder: Path) -> list[Overlay]:
    """Return the overlays of a folder, sorted by name."""
    return [load_file(file) for file in sorted(folder.glob("*.yaml"))]


@cache
def provider_names() -> frozenset[str]:
    """Return the names that overlays cannot have: an account of a module would be taken for a provider's."""
    return frozenset(map(provider_name, NAMES))


def dump_overlay(overlay: Overlay) -> str:
    """Return the text of an overlay's file; short objects and lists take one line."""
    import yaml

    class Dumper(yaml.CSafeDumper if hasattr(yaml, "CSafeDumper") else yaml.SafeDumper):  # type: ignore[misc]
        """Writes no aliases: a person may correct one of two equal parts."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

        def represent_str(self, text: str) -> Any:
            """Quote what would be read as another value than a text."""
            quoted = plain_value(text) != text
            return self.represent_scalar("tag:yaml.org,2002:str", text, style="'" if quoted else None)

        def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> Any:
            return super().represent_sequence(tag, sequence, flow_style=_is_short(sequence) or flow_style)

        def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
            return super().represent_mapping(tag, mapping, flow_style=_is_short(mapping) or flow_style)

    Dumper.add_representer(str, Dumper.represent_str)
    values = overlay.dump()
    ordered = {key: values[key] for key in _FIRST if key in values} | values
    text: str = yaml.dump(ordered, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return OVERLAY_HEADER.format(title=overlay.title) + text


def compile_overlays(overlays: Iterable[Overlay], target: Path, *, loopback: bool = False) -> None:
    """Write what the functions read; files of APIs that are gone are removed, and without any API all are.

    `loopback` is for a deployment on this machine, whose APIs may be here as well.
    """
    overlays = list(overlays)
    index = Index.of(module(overlay, loopback=loopback) for overlay in overlays).dump()
    files = {f"{overlay.name}.json": json.dumps(overlay.dump(), separators=(",", ":")) for overlay in overlays}
    accounts = {overlay.name: overlay.account.model_dump(mode="json") for overlay in overlays}
    if overlays:
        files |= {API_INDEX_FILE: index, ACCOUNTS_FILE: json.dumps(accounts, separators=(",", ":"))}
        target.mkdir(parents=True, exist_ok=True)
    events = {one.name: one.model_dump(mode="json", include={"hooks", "webhooks"}) for one in overlays if one.hooks}
    files |= {EVENTS_FILE: json.dumps(events, separators=(",", ":"))} if events else {}
    for file in target.glob("*.json"):
        if file.name not in files:
            file.unlink()
    for name, text in files.items():
        (target / name).write_text(text, "utf-8")


def with_corrections(proposed: Overlay, earlier: Overlay | None) -> Overlay:
    """Return a proposal with the corrections of an earlier overlay, and with the fingerprints of the proposal."""
    marks = {WHOLE: _marks(proposed.dump(), _WHOLE_FIELDS)} | {
        rule.operation: _marks(rule.dump()) for rule in proposed.tools.values()
    }
    values = proposed.dump() | {"proposed": marks}
    if earlier is None:
        return load_overlay(values)
    _keep(values, earlier.dump(), earlier.proposed.get(WHOLE, {}), _WHOLE_FIELDS)
    values["tools"] = dict(_tools(proposed, earlier))
    kept_out = set(earlier.proposed) - {WHOLE} - {rule.operation for rule in earlier.tools.values()}
    values["left_out"] = {**values.get("left_out", {}), **dict.fromkeys(sorted(kept_out & set(marks)), REMOVED)}
    values["schemas"] = {**earlier.schemas, **proposed.schemas}
    return load_overlay({key: value for key, value in values.items() if value not in ({}, [], "")})


def differences(before: Overlay | None, after: Overlay) -> list[str]:
    """Return the differences: `+ tool`, `- tool`, `~ tool: field`, and the operations that the import left out."""
    if before is None:
        return [f"+ {name}: {rule.operation} ({rule.effect})" for name, rule in after.tools.items()]
    former, latter = ({rule.operation: (name, rule) for name, rule in one.tools.items()} for one in (before, after))
    lines = [f"+ {name}: {key} ({rule.effect})" for key, (name, rule) in latter.items() if key not in former]
    lines += [f"- {name}: {key}" for key, (name, _) in former.items() if key not in latter]
    for key in former.keys() & latter.keys():
        (old_name, old), (name, new) = former[key], latter[key]
        changed = [f"name was {old_name}"] * (name != old_name) + list(_changed(old, new))
        lines += [f"~ {name}: {change}" for change in changed]
    schemas = sorted(name for name in after.schemas if after.schemas[name] != before.schemas.get(name, {}))
    lines += [f"~ schema {name}" for name in schemas]
    was, now = before.dump(), after.dump()
    lines += [f"~ {field}: {_brief(now.get(field))}" for field in _COMPARED if was.get(field) != now.get(field)]
    return sorted(lines, key=lambda line: ("+-~".index(line[0]), line))


def _is_short(value: Any) -> bool:
    """Whether a value is small and simple enough for one line."""
    text = str(value)
    return len(text) <= MAX_FLOW_CHARACTERS and "\n" not in text and not any(key in text for key in ("{{", "[["))


def _tools(proposed: Overlay, earlier: Overlay) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tools of a proposal as they were corrected; those that a person removed stay away."""
    former = {rule.operation: (name, rule) for name, rule in earlier.tools.items()}
    for name, rule in proposed.tools.items():
        values = rule.dump()
        if rule.operation in former:
            former_name, former_rule = former[rule.operation]
            marks = earlier.proposed.get(rule.operation)
            former_values = former_rule.dump()
            corrected = {} if marks is None else _keep(values, former_values, marks)
            changed = [field for field in corrected if _mark(rule.dump().get(field)) != corrected[field]]
            if changed:
                notes = [f"the vendor changed {field}, which you had corrected" for field in changed]
                values["review"] = list(dict.fromkeys([*values.get("review", ()), *notes]))
            yield former_name, values
        elif rule.operation not in earlier.proposed:
            yield name, values


def _keep(
    values: dict[str, Any], former: Mapping[str, Any], marks: Mapping[str, str], fields: tuple[str, ...] = ()
) -> dict[str, str]:
    """Put corrected values into the proposed ones; return the fields with the fingerprints of their old proposals."""
    corrected: dict[str, str] = {}
    for field in fields or sorted({*values, *former, *marks} - {"operation"}):
        mark = marks.get(field, _ABSENT)
        if _mark(former.get(field)) != mark:
            corrected[field] = mark
            if field in former:
                values[field] = former[field]
            else:
                values.pop(field, None)
    return corrected


def _marks(values: Mapping[str, Any], fields: tuple[str, ...] = ()) -> dict[str, str]:
    names = fields or tuple(name for name in ToolRule.model_fields if name != "operation")
    return {name: _mark(values[name]) for name in names if name in values}


def _mark(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:8]


_ABSENT = _mark(None)


def _changed(old: ToolRule, new: ToolRule) -> Iterator[str]:
    before, after = old.dump(), new.dump()
    for field in _COMPARED_OF_TOOLS:
        if before.get(field) != after.get(field):
            yield f"{field} {_brief(before.get(field))} -> {_brief(after.get(field))}"
    yield from _parameters(before.get("parameters", {}), after.get("parameters", {}))
    yield from (f"review: {reason}" for reason in new.review if reason not in old.review)


def _parameters(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in after.keys() - before.keys():
        yield f"parameter {name} added" + (", and required" if after[name].get("required") else "")
    for name in before.keys() - after.keys():
        yield f"parameter {name} removed"
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            required = after[name].get("required", False)
            changed = required != before[name].get("required", False)
            yield f"parameter {name} " + (f"is {'' if required else 'not '}required now" if changed else "changed")


def _brief(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
