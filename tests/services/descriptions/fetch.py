"""Fetch the vendors' API descriptions into .contracts: `make contracts`."""

import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import yaml

from tests.services.descriptions import FETCHED
from tests.services.descriptions.forms import FORMS

SOURCES = Path(__file__).parent / "sources.toml"
SECONDS = 120

type Read = Callable[[str], bytes]


def fetch(sources: Mapping[str, Any], folder: Path, read: Read) -> list[str]:
    """Write the descriptions into a folder, unless any could not be read; return why not."""
    problems: list[str] = []
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as scratch:
        for name, source in sources.items():
            try:
                document = build(source, read)
            except (httpx2.HTTPError, ValueError, LookupError, yaml.YAMLError) as error:
                problems.append(f"{name}: {type(error).__name__}: {error}")
                continue
            (Path(scratch) / f"{name}.openapi.json").write_text(json.dumps(document), "utf-8")
        if not problems:
            folder.mkdir(exist_ok=True)
            for file in Path(scratch).iterdir():
                file.replace(folder / file.name)
    return problems


def build(source: Mapping[str, Any], read: Read) -> dict[str, Any]:
    """Return one OpenAPI document of a source's parts."""
    parts = [_part(part, read(part["url"])) for part in source["parts"]]
    whole = parts[0]
    for part in parts[1:]:
        whole["paths"] |= part["paths"]
        for kind, components in part.get("components", {}).items():
            whole.setdefault("components", {}).setdefault(kind, {}).update(components)
    if "server" in source:
        whole["servers"] = [{"url": source["server"]}]
    return whole


def _part(part: Mapping[str, str], content: bytes) -> dict[str, Any]:
    is_yaml = part["url"].endswith((".yaml", ".yml"))
    document = yaml.load(content, yaml.CSafeLoader) if is_yaml else json.loads(content)
    if "keep" in part:
        _keep(document, part["keep"])
    document = FORMS[part.get("form", "plain")](document)
    if "components" in part:
        document = _renamed(document, part["components"])
    document["paths"] = {f"{part.get('paths', '')}{path}": item for path, item in document["paths"].items()}
    return document


def _keep(document: dict[str, Any], prefix: str) -> None:
    """Keep the paths with a prefix, and the components that they refer to, however far."""
    document["paths"] = {path: item for path, item in document["paths"].items() if path.startswith(prefix)}
    components, found, left = document.get("components", {}), set[str](), list(_references(document["paths"]))
    while left:
        reference = left.pop()
        if reference not in found:
            found.add(reference)
            _, _, kind, name = reference.split("/", 3)
            left += _references(components[kind][name])
    document["components"] = {
        kind: {name: one for name, one in named.items() if f"#/components/{kind}/{name}" in found or "ecurity" in kind}
        for kind, named in components.items()
    }


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        # A discriminator's mapping names all kinds, not only those that are used.
        yield from (one for word, value in node.items() if word != "discriminator" for one in _references(value))
    elif isinstance(node, list):
        yield from (one for value in node for one in _references(value))


def _renamed(document: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return a description whose schemas have a prefix, so that those of another part keep their names."""
    text = json.dumps(document).replace('"#/components/schemas/', f'"#/components/schemas/{prefix}')
    renamed: dict[str, Any] = json.loads(text)
    schemas = renamed.get("components", {}).get("schemas", {})
    renamed.get("components", {})["schemas"] = {f"{prefix}{name}": schema for name, schema in schemas.items()}
    return renamed


def main() -> int:
    """Fetch all; 1 if any could not be read."""
    with httpx2.Client(follow_redirects=True, timeout=SECONDS) as client:
        problems = fetch(
            tomllib.loads(SOURCES.read_text("utf-8")), FETCHED, lambda url: client.get(url).raise_for_status().content
        )
    done = f"{FETCHED} has the descriptions: tests/services uses them"
    sys.stderr.write("\n".join(problems or [done]) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
