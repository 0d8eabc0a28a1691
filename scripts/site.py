"""Gather the pages of the documentation into a folder from which the site is built: `make site`.

Links to files that are no pages become their paths, since the site has no copy of them.
"""

import re
import shutil
import sys
from pathlib import Path

from infra.source import ROOT

PAGES = {"README.md": "index.md", **{name: name for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")}}
PAGES |= {"CHANGELOG.md": "CHANGELOG.md", "examples/README.md": "examples.md", "LICENSE": "LICENSE.md"}
_LINK = re.compile(r"(\[[^\]]*\])\(([\w./-]+)(#[^)]*)?\)")


def gather(folder: Path, root: Path = ROOT) -> list[str]:
    """Copy all pages into a folder, and return each link that leads nowhere, with its page."""
    places = {root / page: folder / "docs" / place for page, place in PAGES.items() if (root / page).is_file()}
    for file in (root / "docs").rglob("*"):
        if file.is_file():
            places[file] = folder / "docs" / file.relative_to(root / "docs")
    broken: list[str] = []
    for source, target in places.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(_with_links(source, places, root, broken), "utf-8")
        else:
            shutil.copy(source, target)
    shutil.copy(ROOT / "scripts/site.toml", folder / "zensical.toml")
    return broken


def _with_links(page: Path, places: dict[Path, Path], root: Path, broken: list[str]) -> str:
    def link(found: re.Match[str]) -> str:
        text, address, fragment = found[1], found[2], found[3] or ""
        file = (page.parent / address).resolve()
        if file in places:
            return f"{text}({places[file].relative_to(places[page].parent, walk_up=True)}{fragment})"
        if not file.exists():
            broken.append(f"{page.relative_to(root)}: {address}")
        return f"{text[1:-1]} (`{file.relative_to(root)}`)" if file.is_relative_to(root) else found[0]

    return _LINK.sub(link, page.read_text("utf-8"))


if __name__ == "__main__":
    if nowhere := gather(Path(sys.argv[1])):
        sys.exit("\n".join(nowhere))
