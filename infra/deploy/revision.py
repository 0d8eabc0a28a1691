"""The revision of the built template: a literal that changes with the owner's parameters.

SAM publishes a version of a function when the template's text about it changes, not when a parameter has another
value (https://github.com/aws/serverless-application-model/issues/3820); so the alias `live` would stay behind. The
literal is the text that changes, and a rule refuses other values than those for which it was made.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

VARIABLE = "REVISION"
RULE = "Revision"


def revised(document: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """Return the template with the revision that belongs to these values of its parameters."""
    made: dict[str, Any] = json.loads(json.dumps(document))
    made["Globals"]["Function"]["Environment"]["Variables"][VARIABLE] = revision(values)
    made.setdefault("Rules", {})[RULE] = {"Assertions": [_assertion(name, value) for name, value in values.items()]}
    return made


def revision(values: Mapping[str, str]) -> str:
    """Return the name of a set of values: equal ones have the same."""
    return hashlib.sha256(json.dumps(sorted(values.items())).encode()).hexdigest()[:16]


def _assertion(name: str, value: str) -> dict[str, Any]:
    problem = f"The template was built for another value of {name}: deploy with `make deploy ARGS={name}=VALUE`."
    return {"Assert": {"Fn::Equals": [{"Ref": name}, value]}, "AssertDescription": problem}
