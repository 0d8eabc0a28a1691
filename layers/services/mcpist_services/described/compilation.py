"""Compilation: from the overlays that people edit to the folder that the functions read."""

import json
from collections.abc import Iterable
from pathlib import Path

from mcpist.errors import InvalidRequest
from mcpist.tools.index import Index
from mcpist_services import NAMES, provider_name
from mcpist_services.described.compiled import ACCOUNTS_FILE, INDEX_FILE
from mcpist_services.described.module import module
from mcpist_services.described.overlay import Overlay, load_overlay
from mcpist_services.described.reading import read, refuse

RESERVED = frozenset({*NAMES, *map(provider_name, NAMES), "files", "programs", "upstream", "described"})


def load_file(file: Path) -> Overlay:
    """Return the overlay of a file; InvalidRequest names the file and the field that is wrong."""
    try:
        values = read(file.read_bytes(), file.name)
        if not isinstance(values, dict):
            raise refuse(file.name, "it is no overlay")
        overlay = load_overlay(values)
    except InvalidRequest as error:
        field = str(error.details["field"])
        place = field if field.startswith(file.name) else f"{file.name}: {field}"
        raise refuse(place, str(error.details["problem"])) from None
    if overlay.name != file.stem:
        raise refuse(f"{file.name}: name", f"it is {overlay.name}, and the file is named {file.name}")
    check_name(overlay.name)
    return overlay


def check_name(name: str) -> None:
    """Refuse a name that a service or a provider of ours has: its grants would be taken for that one's."""
    if name in RESERVED:
        raise refuse("name", f"{name} is taken by a service or a provider")


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
        files |= {INDEX_FILE: index, ACCOUNTS_FILE: json.dumps(accounts, separators=(",", ":"))}
        target.mkdir(parents=True, exist_ok=True)
    for file in target.glob("*.json"):
        if file.name not in files:
            file.unlink()
    for name, text in files.items():
        (target / name).write_text(text, "utf-8")
