"""`mcpist policy`: what an organization permits on arguments and on the way of data."""

from typing import Annotated

from typer import Argument, Option

from infra.cli.document import CommandResult
from infra.cli.options import DryRun, Items, command_group, given, items, text_of
from infra.cli.rest_client import Access
from infra.cli.rest_commands import one_request, to_result

policy = command_group()


@policy.command("show")
def show_policies(access: Access) -> CommandResult:
    """Show the organization's policies."""
    found = access.session().get("/v1/policies")
    return CommandResult(metadata=found, drawing=found["text"].rstrip() or "There are no policies: only roles decide.")


@policy.command("set")
def set_policies(
    access: Access,
    file: Annotated[str, Argument(metavar="FILE", help="Policies in Cedar; - is standard input.")],
    labels: Annotated[Items | None, items("Labels of tools and accounts: tracker.*=customer.")] = None,
    time_zone: Annotated[str | None, Option(metavar="ZONE", help="Of context.time, e.g. Europe/Berlin.")] = None,
    minutes: Annotated[int | None, Option(metavar="N", help="How far back before and recent look.")] = None,
    remembers: Annotated[
        bool | None, Option("--remembers/--forgets", help="What a person read lately labels all later calls.")
    ] = None,
    dry_run: DryRun = False,
) -> CommandResult:
    """Check policies and save them; settings that are not named stay. A dry run shows what they would have stopped."""
    session = access.session()
    kept = {name: value for name, value in session.get("/v1/policies").items() if name != "version"}
    named = given(labels=labels, time_zone=time_zone, minutes=minutes, remembers=remembers)
    body = kept | named | {"text": text_of(file)}
    return to_result(session.change("PUT", "/v1/policies", body, dry_run=dry_run))


policy.command("remove", help="Remove all policies: then only roles decide.")(
    one_request("DELETE", "/v1/policies", None, "dry_run")
)


@policy.command("templates")
def list_templates(access: Access) -> CommandResult:
    """List policies to start from."""
    found = access.session().get("/v1/policies/templates")
    drawing = "\n\n".join(f"// {one['title']}\n{one['text']}" for one in found["templates"])
    return CommandResult(metadata=found, drawing=drawing)
