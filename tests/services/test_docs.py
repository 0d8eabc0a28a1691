"""The guide "a tool in four steps", performed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
READ = """
import json
from scripts.reference import page
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.github.tools import github
from tests.services.test_requests import requests

tool = github.tools["get_topics"]
japanese = CATALOGUE.translation("github", "ja").text(tool.description)
phrases = CATALOGUE.search_words()["github"].phrases["get_topics"]
print(json.dumps([tool.signature, tool.description, japanese, phrases, list(requests(github)), page(github)]))
"""


def test_a_tool_is_added_as_the_guide_says(tmp_path: Path) -> None:
    guide = (ROOT / "docs/services.md").read_text("utf-8")
    place = re.search(r"`layers/services/(\S+\.py)`", guide)
    snippet = re.search(r"```python\n(.*?)```", guide, re.DOTALL)
    words = re.findall(r"`layers/services/(\S+\.toml)`.*?```toml\n(.*?)```", guide, re.DOTALL)[:2]
    request = re.search(r"```\n +(get_topics .*)\n", guide)
    assert place
    assert snippet
    assert len(words) == 2
    assert request
    shutil.copytree(ROOT / "layers/services", tmp_path, dirs_exist_ok=True)
    tool = "\n".join(line.removeprefix("   ") for line in snippet[1].splitlines())
    with (tmp_path / place[1]).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{tool}\n")
    for place_of_words, new_lines in words:
        file_of_words = tmp_path / place_of_words
        text = file_of_words.read_text("utf-8")
        for table, line in re.findall(r"(\[\w+\])\n +(\S.*)\n", new_lines):
            text = text.replace(f"{table}\n", f"{table}\n{line}\n")
        file_of_words.write_text(text, "utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    printed = subprocess.run([sys.executable, "-c", READ], env=environment, check=True, capture_output=True)
    signature, description, translated, phrases, requests, page = json.loads(printed.stdout)
    assert signature == "get_topics(owner, repo) -> names"
    assert description == "Read the topics of a repository."
    assert translated == "リポジトリのトピックを読む。"
    assert phrases == {"phrases": "what is this project about, its keywords", "japanese_phrases": "リポジトリの分野"}
    assert request[1] in requests
    assert "## get_topics\n\nRead the topics of a repository." in page
