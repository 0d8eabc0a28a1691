"""The documented requests of Okta and Entra, from files, and their answers."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.rest_api.scim.conftest import Scim

FILES = Path(__file__).parents[3] / "events/scim"


def filled(value: Any, known: Mapping[str, str]) -> Any:
    """A value of a file with the ids that earlier answers had."""
    return json.loads(re.sub(r"\{(user|group)\}", lambda found: known[found[1]], json.dumps(value)))


def holds(expected: Any, found: Any) -> bool:
    """Whether an answer has at least what is expected of it; lists have as many elements."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and holds(one, found[name]) for name, one in expected.items()
        )
    if isinstance(expected, list):
        return len(expected) == len(found) and all(map(holds, expected, found))
    return bool(expected == found)


@pytest.mark.parametrize("vendor", ["okta", "entra"])
def test_a_vendors_documented_requests_have_the_answers_that_it_expects(scim: Scim, vendor: str) -> None:
    known: dict[str, str] = {}
    for number, request in enumerate(json.loads((FILES / f"{vendor}.json").read_text("utf-8"))["requests"]):
        asked = filled({name: request.get(name) for name in ("path", "body", "expect")}, known)
        answer = scim.send(request["method"], asked["path"], asked["body"], **filled(request.get("query", {}), known))
        assert answer.status == request["status"], (number, answer.text)
        assert answer.headers["content-type"] == "application/scim+json"
        if asked["expect"] is not None:
            assert holds(asked["expect"], answer.json), (number, answer.text)
        if "keep" in request:
            known[request["keep"]] = answer.json["id"]
            assert answer.headers["location"].endswith(f"/scim/v2{asked['path']}/{answer.json['id']}")
        excluded = request.get("query", {}).get("excludedAttributes", "")
        assert not excluded or not any(excluded in one for one in answer.json.get("Resources", [answer.json]))
