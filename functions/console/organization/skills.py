"""The page `/skills`: the organization's own skills, which an administrator reads and approves."""

from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist_services import skill_reviews, skills

SKILLS_PAGE = "/skills"


def show(visit: Visit) -> HttpResponse:
    """Show the skills, and the text of one or what changed in it."""
    organization, name = visit.caller.organization, visit.request.query.get("id", "")
    chosen = skill_reviews.find(organization, name) if name else None
    lines = skill_reviews.compare(organization, chosen) if chosen else []
    warnings = skill_reviews.warnings(chosen) if chosen else []
    found = list(skills.of_organization(organization))
    return visit.page("organization/skills.html", skills=found, chosen=chosen, lines=lines, warnings=warnings)


def submit(visit: Visit) -> HttpResponse:
    """Approve a skill, if it still is as the form showed it."""
    form = visit.request.form_value
    if form("action") != "approve_skill":
        raise InvalidRequest(field="action", problem="this action is unknown")
    skill_reviews.approve(visit.administration, form("id"), form("fingerprint"))
    return visit.redirect(SKILLS_PAGE, done="skill_approved")
