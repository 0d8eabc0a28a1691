"""The software bill of materials, of the lock as it is."""

import json
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import distribution
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.deploy.bill_of_materials import HTMX, bill
from infra.source import ROOT

EXPORT = (
    "export",
    "--locked",
    "--quiet",
    "--no-default-groups",
    "--no-emit-project",
    "--prune",
    "rich",
    "--prune",
    "typer",
)
EXPORT += ("--format", "cyclonedx1.5")
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read())
sys.exit(None if error is None else str(error))
"""


@pytest.fixture(scope="module")
def exported() -> dict[str, Any]:
    """The lock as uv exports it, which is found where `make` brings it."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not on the path")
    done = subprocess.run([uv, *EXPORT], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_bill_has_each_package_of_the_layer_with_its_version_and_hashes(exported: dict[str, Any]) -> None:
    requirements = (ROOT / "layers/dependencies/requirements.txt").read_text("utf-8")
    pinned = set(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)", requirements, re.MULTILINE))
    components = bill(exported)["components"]
    assert pinned - {(one["name"], one["version"]) for one in components} == set()
    assert len(pinned) > 20
    packages = [one for one in components if one["purl"].startswith("pkg:pypi/")]
    assert all(place["hashes"] for one in packages for place in one["externalReferences"])


def test_the_bill_has_the_script_that_is_copied_into_the_console(exported: dict[str, Any]) -> None:
    (htmx,) = (one for one in bill(exported)["components"] if one["name"] == "htmx.org")
    assert htmx["purl"] == f"pkg:npm/htmx.org@{htmx['version']}"
    assert htmx["hashes"] == [{"alg": "SHA-256", "content": sha256(HTMX.read_bytes()).hexdigest()}]


def test_the_same_lock_gives_the_same_bill(exported: dict[str, Any]) -> None:
    later = exported | {"serialNumber": "urn:uuid:1", "metadata": exported["metadata"] | {"timestamp": "2027-01-01"}}
    assert bill(later) == bill(exported)
    fewer = exported | {"components": exported["components"][1:]}
    assert bill(fewer)["serialNumber"] != bill(exported)["serialNumber"]


@pytest.mark.slow
def test_the_bill_is_valid_by_the_schema_of_cyclonedx(exported: dict[str, Any]) -> None:
    shown = bill(exported)
    kinds: dict[tuple[str, ...], Any] = {}
    for component in shown["components"]:  # wheels are all described alike, and each address costs 0.2 s
        places = component.get("externalReferences", [])
        own = ((urlsplit(place["url"]).netloc, place["type"], *sorted(place)) for place in places)
        kept = [place for kind, place in zip(own, places, strict=True) if kinds.setdefault(kind, place) is place]
        component["externalReferences"] = kept
    assert kinds
    validator = ["--with", "cyclonedx-python-lib[json-validation]==11.12.0", "python", "-c", VALIDATE]
    command = ["uv", "run", "--quiet", "--no-project", "--isolated", "--python", sys.executable, *validator]
    done = subprocess.run(command, input=json.dumps(shown), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Terms by which a package may be passed on with ours, as metadata and licence files name them.
PERMISSIVE = re.compile(r"\b(?:MIT|BSD|Apache|PSF|ISC|MPL)\b")
COPYLEFT = re.compile(r"\b[AL]?GPL|GNU (?:Lesser |Affero )?General Public", re.IGNORECASE)


def test_every_package_that_is_deployed_has_a_licence_by_which_it_may_be_passed_on() -> None:
    locked = (ROOT / "layers/dependencies/requirements.txt").read_text("utf-8")
    names = re.findall(r"^([\w.-]+)==[^;\n]+$", locked, re.MULTILINE)  # without those of other systems
    assert len(names) > 40
    terms = {name: licence(name) for name in names}
    assert [name for name, text in terms.items() if COPYLEFT.search(text) or not PERMISSIVE.search(text)] == []


def licence(name: str) -> str:
    """Return a package's terms: those of its metadata, else the beginning of its licence file."""
    package = distribution(name)
    classified = [line for line in package.metadata.get_all("Classifier", []) if line.startswith("License ::")]
    stated = [package.metadata.get("License-Expression"), *classified, (package.metadata.get("License") or "")[:100]]
    texts = [file.read_text("utf-8")[:500] for file in package.files or () if file.name.startswith("LICEN")]
    return " ".join(filter(None, stated)) or " ".join(texts)
