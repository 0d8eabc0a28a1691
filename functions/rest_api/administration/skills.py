"""An organization's own skills: listed, shown as they differ from what was reviewed, and approved by administrators."""

from typing import Annotated, Any

from pydantic import Field

from mcpist.paging import DEFAULT_PAGE_ITEMS, page_of, search
from mcpist_services import skill_reviews, skills
from mcpist_services.skills import ReviewState, Skill
from rest_api.administration.changes import Name, administration
from rest_api.router import Body, Cursor, Limit, Operations, PageBody, RequestBody, SearchText, body_of

router = Operations("administration")
SIGNS = {"added": "+ ", "removed": "- ", "same": "  ", "skipped": "  … lines as they were reviewed: "}


class SkillSummary(Body):
    """A skill of the organization."""

    name: str
    description: str
    review: Annotated[ReviewState, Field(description="Only approved ones are read by all, others by their author")]
    fingerprint: Annotated[str, Field(description="The SHA-256 of all its files, which an approval is valid for")]


class SkillList(Body, PageBody):
    """The organization's skills, by their names."""

    skills: list[SkillSummary]


class SkillDetail(SkillSummary):
    """A skill with its text, which is untrusted."""

    warnings: Annotated[list[str], Field(description="What a person should check before approving it")]
    lines: Annotated[list[str], Field(description="All lines, or of a changed skill `+ ` new and `- ` removed ones")]


class SkillApproval(RequestBody):
    """The skill that was read."""

    fingerprint: Name


@router.operation("GET", "/v1/skills", "List the organization's skills")
def list_skills(q: SearchText = "", limit: Limit = DEFAULT_PAGE_ITEMS, cursor: Cursor = "") -> SkillList:
    """List the organization's own skills, with those that wait for an administrator."""
    work = administration()
    with work.permitted("skills.list", event="look"):
        found = search(skills.of_organization(work.caller.organization), q, lambda one: (one.name, one.description))
    page = page_of(found, lambda one: one.name, cursor, limit)
    return SkillList(skills=[_body(SkillSummary, one) for one in page.items], cursor=page.cursor, total=page.total)


@router.operation("GET", "/v1/skills/<name>", "Show a skill of the organization")
def get_skill(name: str) -> SkillDetail:
    """Show a skill's text, or what has changed since it was reviewed. Nothing that is to be reviewed is cut."""
    work = administration()
    with work.permitted("skills.read", f"skills.{name}", event="look"):
        skill = skill_reviews.find(work.caller.organization, name)
        lines = [f"{SIGNS[one.kind]}{one.text}" for one in skill_reviews.compare(work.caller.organization, skill)]
    return _body(SkillDetail, skill, lines=lines, warnings=skill_reviews.warnings(skill))


@router.operation("POST", "/v1/skills/<name>/approve", "Approve a skill of the organization")
def approve_skill(name: str, body: SkillApproval) -> SkillSummary:
    """Let the models of all who may use it read a skill, if it still has the fingerprint that was shown."""
    return _body(SkillSummary, skill_reviews.approve(administration(), name, body.fingerprint))


def _body[Shown: SkillSummary](kind: type[Shown], skill: Skill, **more: Any) -> Shown:
    return body_of(kind, skill, description=str(skill.frontmatter["description"]), **more)
