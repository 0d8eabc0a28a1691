"""The guide "add a tool in three steps", performed."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from infra.reference import page
from tests.services.test_requests import requests

ROOT = Path(__file__).parents[2]


def test_a_tool_is_added_as_the_guide_says(tmp_path: Path) -> None:
    guide = (ROOT / "docs/tools.md").read_text("utf-8")
    place = re.search(r"`(layers/services/\S+\.py)`", guide)
    snippet = re.search(r"```python\n(.*?)```", guide, re.DOTALL)
    request = re.search(r"```\n +(list_topics .*)\n", guide)
    assert place
    assert snippet
    assert request
    source = (ROOT / place[1]).read_text("utf-8")
    tool = "\n".join(line.removeprefix("   ") for line in snippet[1].splitlines())
    edited = tmp_path / "github_of_the_guide.py"
    edited.write_text(f"{source}\n\n{tool}\n", "utf-8")
    spec = spec_from_file_location(edited.stem, edited)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[edited.stem] = module
    try:
        spec.loader.exec_module(module)
        added = module.github.tools["list_topics"]
        assert added.signature == "list_topics(owner, repo) -> names"
        assert added.description == "List the topics of a repository."
        assert request[1] in list(requests(module.github))
        assert "## list_topics\n\nList the topics of a repository." in page(module.github)
    finally:
        del sys.modules[edited.stem]
