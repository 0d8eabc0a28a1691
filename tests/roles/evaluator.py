"""npm iam-simulate, which knows AWS's rules for policies, asked many questions in one process."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.names import ACCOUNT
from tests.peers.npm import node

HERE = Path(__file__).parent
SCRIPT = (HERE / "evaluate.cjs").read_text("utf-8")
# The evaluator knows the keys of KMS's encryption context only as a list (kms:EncryptionContextKeys).
IGNORED_KEY = "kms:EncryptionContext:"

type Statement = dict[str, Any]
type Policy = list[Statement]
type Context = Mapping[str, str | Sequence[str]]
type FrozenContext = tuple[tuple[str, str | tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Whether a principal may do an action."""

    principal: str
    """The ARN of a role's session, or the name of an AWS service."""
    action: str
    resource: str
    """A full ARN, or `*` for an action that has none."""
    context: FrozenContext
    identity: str = ""
    """The name of the policy of the principal."""
    resource_policy: str = ""
    """The name of the policy of the resource."""


def allowed(policies: Mapping[str, Policy], questions: Sequence[Question]) -> list[bool]:
    """Return the answers; fail on an action, a resource or a context key that AWS does not know."""
    documents = {name: {"Version": "2012-10-17", "Statement": policy} for name, policy in policies.items()}
    lines = [json.dumps({"policies": documents}), *map(_line, questions)]
    verdicts = [json.loads(line) for line in node(SCRIPT, "\n".join(lines), HERE).splitlines()]
    for question, verdict in zip(questions, verdicts, strict=True):
        assert "error" not in verdict, (question, verdict)
        assert all(key.startswith(IGNORED_KEY) for key in verdict["ignored"]), (question, verdict)
    return [verdict["result"] == "Allowed" for verdict in verdicts]


def frozen(context: Context) -> FrozenContext:
    """Return a context as a question has it."""
    return tuple(sorted((key, value if isinstance(value, str) else tuple(value)) for key, value in context.items()))


def _line(question: Question) -> str:
    return json.dumps(
        {
            "principal": question.principal,
            "action": question.action,
            "resource": question.resource,
            "account": (question.resource.split(":")[4:5] or [""])[0] or ACCOUNT,
            "context": dict(question.context),
            "identity": question.identity,
            "resourcePolicy": question.resource_policy,
        }
    )
