"""The vendors' API descriptions: where they are, what they allow and answer, and how they are fetched."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
FETCHED = ROOT / ".contracts"
"""Where `make contracts` puts them."""
STORED = ROOT.parent / "shared/vendor-specs"
"""Where they lie on machines that keep a collection beside the checkout."""


def folder() -> Path:
    """Return the folder of the descriptions; those that were fetched come first."""
    return FETCHED if FETCHED.exists() else STORED


def load(name: str) -> Any:
    """Return a description by its name; PostgREST makes its own per database, so ours is written by hand."""
    file = Path(__file__).parent / "postgrest.openapi.json"
    if name != "supabase-postgrest":
        file = folder() / f"{name}.openapi.json"
    return json.loads(file.read_text("utf-8"))
