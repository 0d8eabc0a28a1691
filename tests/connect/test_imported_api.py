"""The page of an imported API, whose texts come from a description that somebody else wrote."""

from pathlib import Path
from typing import Any

import pytest

from connect import pages
from connect.texts import TEXTS
from mcpist.memory import forget_all
from mcpist_services.described.compilation import compile_overlays
from mcpist_services.described.overlay import load_overlay
from tests.services.described.library import library, overlay_of


def test_texts_of_a_description_stay_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = overlay_of(library()).dump() | {"title": "<b>Library</b>"}
    values["security"]["key_page"] = 'https://library.example/"onclick="x'
    compile_overlays([load_overlay(values)], tmp_path)
    monkeypatch.setenv("APIS", str(tmp_path))
    forget_all()
    offer: dict[str, Any] = {"organization": "acme", "user": "ada", "roles": ["r"], "all_roles": []}
    entry = {"service": "library", "provider": "library", "keys": True, "consent": True, "together": ["library"]}
    offer |= {"role": "", "services": [entry | {"grants": []}]}
    shown = pages.overview(TEXTS["en"], offer), pages.service(TEXTS["en"], offer)
    page = "".join([*shown, pages.leaving(TEXTS["en"], "library", "https://login.library.example")])
    monkeypatch.undo()
    forget_all()
    assert 'href="https://library.example/&quot;onclick=&quot;x"' in page
    assert "&lt;b&gt;Library" in page
    assert "<b>Library" not in page
