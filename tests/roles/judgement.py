"""The judgement on what a deployment's functions and machines asked of AWS."""

from collections.abc import Sequence

from infra.local.stack import EmbeddedAws
from tests.roles.accesses import questions
from tests.roles.evaluator import allowed
from tests.roles.operations import operation_of
from tests.roles.stack import Stack, stack_of
from tests.traffic import AwsRequest, traffic_of


def check_requests(aws: EmbeddedAws) -> None:
    """Fail if AWS would have refused a recorded request: by the caller's role, or by its own model of the request."""
    requests = tuple(traffic_of(aws).requests)
    wrong = malformed(requests) or refused(stack_of(aws.template), requests)
    assert not wrong, "\n".join(wrong)


def refused(stack: Stack, requests: Sequence[AwsRequest]) -> list[str]:
    """Return what IAM would have refused: the role, the action, the resource, its context and the operation."""
    asked = questions(stack, requests)
    verdicts = allowed(stack.policies, list(asked))
    return [
        f"{question} of {why}" for (question, why), verdict in zip(asked.items(), verdicts, strict=True) if not verdict
    ]


def malformed(requests: Sequence[AwsRequest]) -> list[str]:
    """Return what AWS's own models say against the requests of the functions."""
    operations = [operation_of(request) for request in requests if request.function]
    return sorted({f"{one.service}:{one.name}: {errors}" for one in operations if (errors := one.errors())})
