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


def file_of(name: str) -> Path:
    """Return the file of a description; PostgREST makes its own per database, so ours is written by hand."""
    if name == "supabase-postgrest":
        return Path(__file__).parent / "postgrest.openapi.json"
    return folder() / f"{name}.openapi.json"


def load(name: str) -> Any:
    """Return a description by its name; AssertionError says how to have it where it is missing."""
    assert file_of(name).exists(), f"no description {file_of(name)}: run `make contracts`, which needs the internet"
    return json.loads(file_of(name).read_text("utf-8"))
