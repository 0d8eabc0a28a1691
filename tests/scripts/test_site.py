"""The pages of the documentation's site: all of them, each in its navigation, without a link that leads nowhere."""

import tomllib
from pathlib import Path

from scripts.site import gather


def test_no_link_of_a_page_leads_nowhere_and_the_navigation_has_every_page(tmp_path: Path) -> None:
    assert gather(tmp_path) == []
    pages = {str(page.relative_to(tmp_path / "docs")) for page in (tmp_path / "docs").rglob("*.md")}
    in_navigation = set(places(tomllib.loads((tmp_path / "zensical.toml").read_text("utf-8"))["project"]["nav"]))
    assert in_navigation <= pages
    # Their contents pages lead to each service's tools, and to each decision.
    left_out = {page for page in pages - in_navigation if not page.startswith(("tools/", "decisions/"))}
    assert left_out == {"LICENSE.md"}


def places(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    children = part.values() if isinstance(part, dict) else part
    return [place for child in children for place in places(child)]  # type: ignore[attr-defined]


def test_a_link_becomes_the_page_or_the_path_and_one_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "template.yaml").touch()
    (root / "docs/a.md").write_text("[R](../README.md#top), [T](../template.yaml), [B](b.md), `call[x](y z)`")
    (root / "README.md").write_text("[A](docs/a.md)")
    assert gather(tmp_path / "site", root) == ["docs/a.md: b.md"]
    assert (tmp_path / "site/docs/index.md").read_text() == "[A](a.md)"
    written = (tmp_path / "site/docs/a.md").read_text()
    assert written.startswith("[R](index.md#top), T (`template.yaml`), ")
    assert written.endswith("`call[x](y z)`")
