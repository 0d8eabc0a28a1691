"""The output of `make build` is what Lambda would run: handlers import from it alone, without compiling."""

import json
import os
import subprocess
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcpist.tools.search.catalogue import INDEX_FILE
from mcpist_services.catalogue import CATALOGUE
from tests.internet import fetching_environment

# What a build must not change is quick: tests/test_imports.py, tests/test_template.py and tests/test_deployment.py.
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
UNZIPPED_LIMIT_BYTES = 250 * 2**20
# The only function that a fresh interpreter needs: import one handler and say where everything came from.
IMPORT = """
import importlib, json, os, sys
from importlib import _bootstrap_external
folders, name = json.loads(sys.argv[1]), sys.argv[2]
sys.path[:0] = folders
compiled = []
source_to_code = _bootstrap_external.SourceLoader.source_to_code
def watched(self, data, path, *args, **options):
    compiled.append(path)
    return source_to_code(self, data, path, *args, **options)
_bootstrap_external.SourceLoader.source_to_code = watched
module, _, function = name.rpartition(".")
assert callable(getattr(importlib.import_module(module), function))
origins = [m.__file__ for m in sys.modules.values() if getattr(m, "__file__", None)]
json.dump({"origins": origins, "compiled": compiled}, sys.stdout)
"""


class _Loader(yaml.CSafeLoader):
    """Reads the built template; what a tag means does not matter here."""


def _untagged(loader: _Loader, _suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Loader.add_multi_constructor("!", _untagged)


def resources(template: Path) -> dict[str, Any]:
    document = yaml.load(template.read_text(), _Loader)  # noqa: S506 - _Loader is a CSafeLoader
    return document["Resources"]


def of_type(template: Path, kind: str) -> dict[str, Any]:
    return {id_: r["Properties"] for id_, r in resources(template).items() if r["Type"] == f"AWS::Serverless::{kind}"}


FUNCTIONS = of_type(ROOT / "template.yaml", "Function")
LAYERS = of_type(ROOT / "template.yaml", "LayerVersion")
PYTHON_LAYERS = [id_ for id_ in LAYERS if id_ != "ConfigLayer"]


def make_build(folder: Path) -> Path:
    """Build into a folder."""
    # Variables that an outer `make test` or `uv run` set must not reach the inner make.
    outer = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    environment = {name: value for name, value in fetching_environment().items() if name not in outer}
    if "UV" in environment:
        environment["PATH"] = os.pathsep.join([str(Path(environment["UV"]).parent), environment["PATH"]])
    command = ["make", "build", f"BUILD_DIR={folder}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode and "error sending request" in done.stderr:
        pytest.skip("uv cannot fetch the SAM CLI or the layer's packages: connect to the internet once")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of `make build`: one folder for each function and layer."""
    return make_build(tmp_path_factory.mktemp("build") / "built")


def code(built: Path, id_: str) -> Path:
    """A function's own folder, or a layer's root as Lambda puts it on the path."""
    return built / id_ / "python" if id_ in LAYERS else built / id_


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("id_", FUNCTIONS)
def test_the_handler_imports_from_the_built_folders_alone_and_compiles_nothing(built: Path, id_: str) -> None:
    folders = [str(code(built, part)) for part in (id_, *LAYERS)]
    python = Path(sys.executable).resolve()  # the interpreter behind the virtual environment, without its packages
    command = [str(python), "-I", "-S", "-B", "-c", IMPORT, json.dumps(folders), FUNCTIONS[id_]["Handler"]]
    environment = {"AWS_DEFAULT_REGION": "us-east-1", "PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    library = str(Path(os.__file__).resolve().parent)
    foreign = [o for o in seen["origins"] if not o.startswith((str(built), library)) or "site-packages" in o]
    assert not foreign
    assert not seen["compiled"]


@pytest.mark.parametrize("id_", [*FUNCTIONS, *PYTHON_LAYERS])
def test_every_source_has_bytecode_of_this_python_that_is_never_checked_against_it(built: Path, id_: str) -> None:
    unchecked_hash = (0b01).to_bytes(4, "little")  # https://peps.python.org/pep-0552/
    root = code(built, id_)
    sources = {path for path in root.rglob("*.py") if "lib2to3" not in path.parts}
    assert sources
    for source in sources:
        head = (source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc").read_bytes()[:8]
        assert head == MAGIC_NUMBER + unchecked_hash, source
    assert len(list(root.rglob("*.pyc"))) == len(sources), "bytecode of another Python, or of a source that is gone"


@pytest.mark.parametrize("id_", FUNCTIONS)
def test_a_function_holds_its_own_folder_and_nothing_else(built: Path, id_: str) -> None:
    room = FUNCTIONS[id_]["Handler"].split(".")[0]
    assert [path.name for path in (built / id_).iterdir()] == [room]
    assert {name for name in files(built / id_) if "__pycache__" not in name} == {
        f"{room}/{name}" for name in files(ROOT / "functions" / room) if "__pycache__" not in name
    }


def test_layers_hold_what_their_folders_say_and_nothing_that_only_developers_need(built: Path) -> None:
    assert [path.name for path in code(built, "CoreLayer").iterdir() if path.is_dir()] == ["mcpist"]
    assert [path.name for path in code(built, "ServicesLayer").iterdir() if path.is_dir()] == ["mcpist_services"]
    dependencies = {path.name for path in code(built, "DependenciesLayer").iterdir()}
    assert {"boto3", "httpx2", "mcp", "pydantic"} <= dependencies
    assert not {"bin", "tests", "pytest", "moto", "mypy", "hypothesis"} & dependencies


def test_the_bill_of_materials_stands_beside_the_template(built: Path) -> None:
    bill = json.loads((built / "bom.cdx.json").read_text("utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert {"pydantic", "htmx.org"} <= {component["name"] for component in bill["components"]}


def test_what_the_owner_configures_is_where_the_functions_read_it(built: Path) -> None:
    layer = {name: content for name, content in files(built / "ConfigLayer").items() if "/servers/" not in name}
    assert set(layer) == {"config/apis.schema.json", "config/upstreams.json", "config/upstreams.schema.json"}
    assert layer["config/upstreams.json"] == (ROOT / "layers/config/upstreams.json").read_bytes()


def test_the_index_of_the_catalogue_is_what_the_code_says(built: Path) -> None:
    index = code(built, "ServicesLayer") / "mcpist_services" / INDEX_FILE
    assert index.read_text("utf-8") == CATALOGUE.read().dump()


@pytest.mark.parametrize("id_", FUNCTIONS)
def test_a_function_with_its_layers_stays_under_lambdas_limit(built: Path, id_: str) -> None:
    size = sum(path.stat().st_size for part in (id_, *LAYERS) for path in (built / part).rglob("*") if path.is_file())
    assert size < UNZIPPED_LIMIT_BYTES // 2, f"{size:,} bytes: half of Lambda's limit is passed"


def test_building_again_elsewhere_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    # Equal content has an equal hash, so `sam deploy` publishes no new layer version for it.
    here, elsewhere = files(built), files(make_build(tmp_path / "elsewhere"))
    assert [name for name in here | elsewhere if here.get(name) != elsewhere.get(name)] == []
