"""The table of services: what is true of a service is in its folder, and nowhere else."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import mcpist_services
from mcpist.errors import NotConfigured
from mcpist.tools.search.catalogue import Catalogue
from mcpist_services import NAMES, providers
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each
from token_broker import providers as broker_providers

ROOT = Path(__file__).parents[2]
# Besides, infra knows `rag`, which has no vendor: a local deployment fills it with this project's own pages.
# Files that may name a service, and why.
EXCUSED = {
    "functions/rest_api/tools/listing.py": "a platform's format is documented at ai.google.dev",
    "infra/deploy/revision.py": "the reason for the revision is an issue at github.com",
    "functions/program_runner/confinement/system_calls.py": "the numbers of system calls lie at github.com",
    "layers/core/mcpist/people/holdings.py": "an organization's documents lie in the folder of their module",
    "layers/core/mcpist/markdown/writer.py": "the specification of the tables lies at github.github.com",
}
SUFFIXES = {".py", ".html", ".css", ".js", ".json", ".toml", ".yaml"}


def words() -> set[str]:
    """The names, titles and hosts of all services and providers."""
    names = {
        *NAMES,
        *map(mcpist_services.title, NAMES),
        *providers(),
        *filter(None, (p.title for p in providers().values())),
    }
    urls = {url for p in providers().values() for url in (p.authorize_url, p.token_url, p.account_url, p.key_page)}
    hosts = {urlsplit(url).hostname or "" for url in urls | {CATALOGUE.module(name).host for name in NAMES}}
    no_vendor = {
        mcpist_services.title("rag"),
        "changes",
        mcpist_services.title("changes"),
        "files",
        mcpist_services.title("files"),
        "people",
        mcpist_services.title("people"),
    }  # words of every room
    return (names | hosts) - {"", *no_vendor}


def files() -> Iterator[Path]:
    for place in ("functions", "layers/core", "infra"):
        for file in sorted((ROOT / place).rglob("*")):
            path = file.relative_to(ROOT).as_posix()
            if file.suffix in SUFFIXES and not path.startswith(tuple(EXCUSED)):
                yield file


def test_core_doors_and_infra_name_no_service() -> None:
    pattern = re.compile(rf"(?<![a-z])({'|'.join(map(re.escape, sorted(words())))})(?![a-z])", re.IGNORECASE)
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files()
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if (match := pattern.search(line)) and not (match[0] == "rag" and file.is_relative_to(ROOT / "infra"))
    ]
    assert not found, "\n".join(found)


@for_each("path", EXCUSED.keys())
def test_every_excuse_is_needed(path: str) -> None:
    place = ROOT / path
    texts = [file.read_text("utf-8") for file in ([place] if place.is_file() else place.rglob("*.py"))]
    assert any(word.casefold() in text.casefold() for text in texts for word in words())


def test_a_broker_that_resolves_imports_no_tools() -> None:
    script = """
import sys
import token_broker.handler
import mcpist_services
mcpist_services.provider_name("github")
one = sorted(name for name in sys.modules if name.endswith(".oauth") and name.startswith("mcpist_services"))
assert one == ["mcpist_services.github.oauth"], one
mcpist_services.providers()
pattern = r"mcpist\\.(tools|render|markdown)|mcpist_services\\..*(tools|module)"
tools = [name for name in sys.modules if re.match(pattern, name)]
assert not tools, tools
"""
    environment = {"PYTHONPATH": str(ROOT / "functions"), "PATH": ""}
    subprocess.run([sys.executable, "-c", f"import re{script}"], check=True, env=environment)


@for_each("name", NAMES)
def test_a_service_that_has_accounts_has_a_dialect_and_no_other_has_one(name: str) -> None:
    assert (mcpist_services.consent(name) is not None) is bool(CATALOGUE.module(name).service)


def test_a_service_outside_the_table_goes_by_its_own_name() -> None:
    assert mcpist_services.title("vault") == "vault"
    assert [mcpist_services.title(name) for name in ("saved", "automations")] == ["Saved batches", "Automations"]
    assert mcpist_services.provider_title("vault") == "vault"
    assert mcpist_services.provider_name("vault") == "vault"


def test_the_services_of_one_provider_show_its_title() -> None:
    assert mcpist_services.provider_title("jira") == "Atlassian"
    assert mcpist_services.provider_title("github") == "GitHub"


# -- what is missing is named ---------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one service, whose folder is empty so far."""
    folder = tmp_path / f"services_{tmp_path.name}"
    (folder / "gossip").mkdir(parents=True)
    for place in (folder, folder / "gossip"):
        (place / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return folder


GOSSIP = """
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module

{name} = Module("{declared}", "Messages.", api_version="1", host="https://gossip.example.com")
"""


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        (None, "no tools for `gossip`: add .*/gossip/tools.py"),
        (GOSSIP.format(name="gossip", declared="gossip"), "no tools in .*gossip.tools: declare one with @gossip.reads"),
        (GOSSIP.format(name="slak", declared="gossip"), "no module `gossip` in .*gossip.tools"),
        (GOSSIP.format(name="gossip", declared="slak"), "no module `gossip` in .*gossip.tools"),
    ],
)
def test_what_a_service_s_folder_lacks_is_named(package: Path, tools: str | None, problem: str) -> None:
    if tools is not None:
        (package / "gossip/tools.py").write_text(tools, "utf-8")
    with pytest.raises(ImportError, match=problem):
        Catalogue(package.name, ["gossip"]).module("gossip")


def test_an_import_that_fails_inside_a_service_is_not_called_a_missing_folder(package: Path) -> None:
    (package / "gossip/tools.py").write_text("import nothing_of_this_name", "utf-8")
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        Catalogue(package.name, ["gossip"]).module("gossip")


def test_a_line_forgotten_in_the_table_is_named(package: Path) -> None:
    (package / "gossip/tools.py").write_text(GOSSIP.format(name="gossip", declared="gossip"), "utf-8")
    with pytest.raises(ImportError, match='no line for `gossip`: add "gossip" to TITLES'):
        Catalogue(package.name, []).read()


def test_a_missing_dialect_is_named(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcpist_services, "__path__", [*mcpist_services.__path__, str(package)])
    monkeypatch.setattr(mcpist_services, "NAMES", (*NAMES, "gossip"))
    mcpist_services.consent.cache_clear()
    with pytest.raises(NotConfigured, match=r"no OAuth dialect for `gossip`: add layers/services/.*/gossip/oauth\.py"):
        broker_providers.find("gossip")
    mcpist_services.consent.cache_clear()
    sys.modules.pop("mcpist_services.gossip")


def test_every_service_has_a_name_that_people_know_it_by() -> None:
    assert [name for name in NAMES if not mcpist_services.title(name)] == []
