"""`mcpist skill`: an organization's own skills, read and approved by administrators."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from infra.cli.options import command_group
from infra.cli.rest_commands import one_request

SKILL_PATH, SKILL = "/v1/skills/{}", Argument(metavar="SKILL", help="The skill's name.")


@dataclass(frozen=True, slots=True)
class SeenSkill:
    """The body of an approval."""

    fingerprint: Annotated[str, Option(metavar="SHA256", help="The one that was shown with the text that you read.")]


skill = command_group()
skill.command("list", help="List the organization's skills, with those that wait for an administrator.")(
    one_request("GET", "/v1/skills", paged=True)
)
skill.command("show", help="Show a skill's text, or what has changed since it was approved: untrusted text.")(
    one_request("GET", SKILL_PATH, SKILL)
)
skill.command("approve", help="Let other people's models read a skill as you have read it.")(
    one_request("POST", f"{SKILL_PATH}/approve", SKILL, fields=SeenSkill)
)
