"""Reviews: an administrator reads a skill of the organization that is new or has changed, and approves it."""

import json
from collections.abc import Mapping

from mcpist.errors import FileNotFound, InvalidRequest
from mcpist.people.administration import Administration
from mcpist.registry import definitions
from mcpist.suggestions import nearest
from mcpist.visible_text import hidden_characters
from mcpist_services import skill_records, skills
from mcpist_services.skills import Skill
from mcpist_services.upstream.trust import TextLine, changes, lines_of

MAX_COMPARED_LINES = 1_000
"""Of a longer text the whole is shown, since a comparison would take long; nothing to be reviewed is cut."""


def find(organization: str, name: str) -> Skill:
    """Return a skill of an organization; FileNotFound if there is none of this name."""
    found = {skill.name: skill for skill in skills.of_organization(organization)}
    if name not in found:
        raise FileNotFound(path=name, nearest=nearest(name, found))
    return found[name]


def approve(administration: Administration, name: str, fingerprint: str) -> Skill:
    """Let the models of all who may use it read a skill, if it still has the fingerprint that the reviewer has seen."""
    organization, target = administration.caller.organization, f"skills.{name}"
    with administration.permitted("skills.approve", target):
        skill = find(organization, name)
        if skill.fingerprint != fingerprint:
            raise InvalidRequest(field="fingerprint", problem=f"the skill {name} is not what was shown: look again")
        digest = definitions.store(organization, dict(skill.files))
        # The row comes before the approval: nothing is shown to a model without a trail.
        administration.record("skills.approve", target, {"state": skill.review}, {"fingerprint": digest})
        skill_records.record(administration.caller, name, digest)
        return find(organization, name)


def compare(organization: str, skill: Skill) -> list[TextLine]:
    """Return the lines that differ from the reviewed skill, or else all."""
    if skill.review == "changed":
        reviewed = definitions.load(organization, skill_records.reviewed_hash(organization, skill.name))
        if max(_count(reviewed), _count(skill.files)) <= MAX_COMPARED_LINES:
            return changes(json.dumps(reviewed), json.dumps(dict(skill.files)), MAX_COMPARED_LINES)
    return lines_of(json.dumps(dict(skill.files)), _count(skill.files))


def warnings(skill: Skill) -> list[str]:
    """Return the points that a person should check before approving a skill."""
    hidden = sorted({letter for text in (*skill.files, *skill.files.values()) for letter in hidden_characters(text)})
    return [f"hidden characters: {', '.join(f'U+{ord(letter):04X}' for letter in hidden)}"] if hidden else []


def _count(files: Mapping[str, str]) -> int:
    """Return the number of lines of all files."""
    return sum(text.count("\n") + 1 for text in files.values())
