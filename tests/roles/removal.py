"""Every right of a stack taken away, one at a time: what then no longer works."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.roles.evaluator import Policy, Question, Statement, allowed
from tests.roles.stack import FOREIGN, Stack


@dataclass(frozen=True, slots=True)
class Right:
    """One action on one resource in one statement of a policy."""

    policy: str
    sid: str
    action: str
    resource: str

    def __str__(self) -> str:
        return f"{self.policy} {self.sid} {self.action} {self.resource}"


def rights(stack: Stack) -> Iterator[tuple[Right, Policy]]:
    """Yield each right of the stack with its policy as it is without it."""
    for name, policy in stack.policies.items():
        for at, statement in enumerate([] if name in FOREIGN else policy):
            for action in _list(statement["Action"]):
                for resource in _list(statement.get("Resource", "")):
                    right = Right(name, statement.get("Sid", "trust"), action, resource)
                    yield right, [*policy[:at], *_without(statement, action, resource), *policy[at + 1 :]]


def unneeded(stack: Stack, questions: Iterable[Question]) -> set[Right]:
    """Return the rights without which every question has the same answer as with them."""
    asked = list(questions)
    before = allowed(stack.policies, asked)
    found = dict(rights(stack))
    policies = dict(stack.policies) | {str(right): policy for right, policy in found.items()}
    varied = [
        (right, variant, was)
        for right in found
        for question, was in zip(asked, before, strict=True)
        if (variant := _with_policy(question, right)) is not None
    ]
    after = allowed(policies, [variant for _, variant, _ in varied])
    needed = {right for (right, _, was), now in zip(varied, after, strict=True) if was != now}
    return set(found) - needed


def _with_policy(question: Question, right: Right) -> Question | None:
    """Return a question that a right is about, put to the policy without it."""
    if right.action not in {question.action, f"{question.action.partition(':')[0]}:*"}:
        return None
    if question.identity == right.policy:
        return replace(question, identity=str(right))
    return replace(question, resource_policy=str(right)) if question.resource_policy == right.policy else None


def _without(statement: Statement, action: str, resource: str) -> Iterator[Statement]:
    """Yield what is left of a statement without an action on a resource."""
    actions, resources = _list(statement["Action"]), _list(statement.get("Resource", ""))
    if other := [one for one in actions if one != action]:
        yield statement | {"Action": other}
    if other := [one for one in resources if one != resource]:
        yield statement | {"Action": [action], "Resource": other}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
