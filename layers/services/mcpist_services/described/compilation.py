"""Overlay files that people edit: read, written, and compiled to the folder that the functions read."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from mcpist.bounded_yaml import plain_value
from mcpist.tools.search.index import Index
from mcpist_services import NAMES, provider_name
from mcpist_services.definition_files import load_definition
from mcpist_services.described.compiled import ACCOUNTS_FILE, API_INDEX_FILE
from mcpist_services.described.module import module
from mcpist_services.described.overlay import Overlay

MAX_OVERLAY_BYTES = 16_000_000
OVERLAY_HEADER = """\
# yaml-language-server: $schema=../apis.schema.json
# {title} as a module, written by `mcpist api import`. Correct it as you like: the next import keeps your corrections.
# docs/apis.md explains it. No secret belongs here: keys are connected like any other account.
"""
MAX_FLOW_CHARACTERS = 110

# What people read and correct comes first.
_FIRST = ("name", "title", "description", "version", "source", "host", "security", "review", "tools", "left_out")


def load_file(file: Path) -> Overlay:
    """Return the overlay of a file; InvalidRequest names the file and the field that is wrong."""
    return load_definition(Overlay, file, MAX_OVERLAY_BYTES, provider_names())


@cache
def provider_names() -> frozenset[str]:
    """Return the names that overlays cannot have: an account of a module would be taken for a provider's."""
    return frozenset(map(provider_name, NAMES))


def load_folder(folder: Path) -> list[Overlay]:
    """Return the overlays of a folder, sorted by name."""
    return [load_file(file) for file in sorted(folder.glob("*.yaml"))]


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
    for file in target.glob("*.json"):
        if file.name not in files:
            file.unlink()
    for name, text in files.items():
        (target / name).write_text(text, "utf-8")


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


def _is_short(value: Any) -> bool:
    """Whether a value is small and simple enough for one line."""
    text = str(value)
    return len(text) <= MAX_FLOW_CHARACTERS and "\n" not in text and not any(key in text for key in ("{{", "[["))
