"""The organization's policies: shown, checked, saved and removed."""

from dataclasses import asdict
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field

from mcpist.caller import NO_POLICIES, Policies, PolicyLevel
from mcpist.people.organization import Organization
from rest_api.administration.changes import CountedCall, DryRun, administration, options, show, versioned
from rest_api.exchange import current
from rest_api.router import AdministrationRequest, Operations

router = Operations("administration")


class PolicyDocument(AdministrationRequest):
    """The policies of an organization."""

    text: Annotated[str, Field(description="Policies in Cedar, each with an `@id`")]
    labels: Annotated[
        tuple[str, ...], Field(description="Labels of tools and accounts, such as `tracker.*=customer`")
    ] = ()
    time_zone: Annotated[str, Field(description="The time zone of `context.time`")] = "UTC"
    minutes: Annotated[
        int, Field(description="How far back `context.before` and `context.recent` look; 0 for only the batch itself")
    ] = 60
    remembers: Annotated[
        bool, Field(description="Whether all that a person read in that time labels the person's later calls")
    ] = False


class PolicyBody(PolicyDocument):
    """The policies of an organization, with their version."""

    version: Annotated[int, Field(description="Grows with each change; 0 where there are no policies")]


class PolicyRuleBody(BaseModel):
    """One policy."""

    id: str
    level: PolicyLevel
    message: str


class PolicyCalls(CountedCall):
    """Calls of a tool that the policies would have stopped."""

    verdict: Annotated[str, Field(description="`refuse`, `ask`, `approve`, or what it depends on")]
    policy: str


class PolicyPreview(BaseModel):
    """The calls of the last days that the policies would have stopped, as far as arguments do not decide it."""

    days: int
    complete: Annotated[bool, Field(description="False where counting took too long")]
    calls: list[PolicyCalls]


class PolicyReport(BaseModel):
    """Policies that were checked, and saved unless it was a dry run."""

    version: Annotated[int, Field(description="The version of the policies")]
    dry_run: bool
    rules: list[PolicyRuleBody]
    preview: PolicyPreview | None


class PolicyTemplateBody(BaseModel):
    """A policy to start from."""

    name: str
    title: str
    text: str


class PolicyTemplateList(BaseModel):
    """Policies to start from."""

    templates: list[PolicyTemplateBody]


@router.operation("GET", "/v1/policies", "Show the organization's policies")
def get_policies() -> Response[PolicyBody]:
    """Show the policies; without any, the text is empty and only roles decide."""
    return show("policies.read", "policies", _body)


@router.operation("GET", "/v1/policies/templates", "List policies to start from")
def list_policy_templates() -> PolicyTemplateList:
    """List policies to start from, each of which an administrator adapts."""
    from mcpist_services.policy_templates import templates

    found = [PolicyTemplateBody.model_validate(asdict(one)) for one in templates(current().caller.locale)]
    return PolicyTemplateList(templates=found)


@router.operation("PUT", "/v1/policies", "Replace the organization's policies")
def replace_policies(body: PolicyDocument, dry_run: DryRun = False) -> Response[PolicyReport]:
    """Check the policies and save them as the next version; a dry run also shows what they would have stopped lately.

    They hold from the next call, and for the steps of running batches that have not begun.
    """
    return _report(Policies(0, **body.model_dump()), dry_run=dry_run)


@router.operation("DELETE", "/v1/policies", "Remove the organization's policies")
def remove_policies(dry_run: DryRun = False) -> Response[PolicyReport]:
    """Remove all policies: then only roles decide."""
    return _report(None, dry_run=dry_run)


def _report(policies: Policies | None, *, dry_run: bool) -> Response[PolicyReport]:
    from mcpist.running.policy_change import change_policies
    from mcpist_services.catalogue import CATALOGUE

    changed = change_policies(administration(), policies, CATALOGUE, options(dry_run=dry_run))
    rules: list[dict[str, Any]] = [{"id": one.id, "level": one.level, "message": one.message} for one in changed.rules]
    facts = {"version": changed.version, "dry_run": dry_run, "rules": rules, "preview": changed.preview}
    return versioned(PolicyReport.model_validate(facts), changed.organization_version)


def _body(found: Organization) -> PolicyBody:
    return PolicyBody.model_validate(asdict(found.policies or NO_POLICIES))
