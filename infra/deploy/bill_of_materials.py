"""The software bill of materials (CycloneDX) of what is deployed: the locked packages, and files that are copied in.

The same lock gives the same bytes, so that two builds of a release can be compared.

Reference: https://cyclonedx.org/docs/1.5/json/
"""

import json
import re
import sys
import uuid
from hashlib import sha256
from pathlib import Path
from typing import Any

from infra.source import ROOT

HTMX = ROOT / "functions/console/assets/htmx.js"


def main() -> None:
    """Print the bill of the export on the standard input."""
    sys.stdout.write(json.dumps(bill(json.load(sys.stdin)), indent=2) + "\n")


def bill(exported: dict[str, Any]) -> dict[str, Any]:
    """Return uv's bill with the scripts of the console, and without the moment at which it was written."""
    made = {**exported, "metadata": {**exported["metadata"]}, "components": [*exported["components"], _htmx(HTMX)]}
    del made["metadata"]["timestamp"], made["serialNumber"]
    digest = sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
    return made | {"serialNumber": f"urn:uuid:{uuid.UUID(digest[:32], version=4)}"}


def _htmx(file: Path) -> dict[str, Any]:
    """Return the component of htmx, whose one file is part of the console."""
    content = file.read_bytes()
    version = re.search(rb'version="([0-9.]+)"', content)
    if version is None:
        raise ValueError(f"{file} names no version of htmx")
    name = f"htmx.org@{version[1].decode()}"
    return {
        "type": "library",
        "bom-ref": name,
        "name": "htmx.org",
        "version": version[1].decode(),
        "purl": f"pkg:npm/{name}",
        "hashes": [{"alg": "SHA-256", "content": sha256(content).hexdigest()}],
    }


if __name__ == "__main__":
    main()
