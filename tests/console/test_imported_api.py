"""The page of an imported API, whose texts come from a description that somebody else wrote."""

from pathlib import Path
from typing import Any

import pytest

from mcpist.memory import forget_all
from mcpist_services.described.overlay import load_overlay
from mcpist_services.described.overlay_files import compile_overlays
from tests.console.test_pages import show
from tests.services.described.library import library, overlay_of


def test_texts_of_a_description_stay_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = overlay_of(library()).dump() | {"title": "<b>Library</b>"}
    values["security"]["key_page"] = 'https://library.example/"onclick="x'
    compile_overlays([load_overlay(values)], tmp_path)
    monkeypatch.setenv("APIS", str(tmp_path))
    forget_all()
    offer: dict[str, Any] = {"roles": ["r"], "all_roles": []}
    entry = {"service": "library", "provider": "library", "keys": True, "consent": True, "together": ["library"]}
    given: dict[str, Any] = {
        "offer": offer,
        "entry": entry | {"grants": []},
        "role": "",
        "label": "",
        "problem": "",
        "sent_to": [],
    }
    pages = show("connect/overview.html", offer=offer, entries=[given["entry"]]), show("connect/service.html", **given)
    page = "".join([*pages, show("connect/leaving.html", service="library", url="https://login.library.example")])
    monkeypatch.undo()
    forget_all()
    assert 'href="https://library.example/&#34;onclick=&#34;x"' in page
    assert "&lt;b&gt;Library" in page
    assert "<b>Library" not in page
