"""Skills: how tools go together, as Agent Skills (https://agentskills.io/specification) that clients read.

skill://github/SKILL.md                    of a service, from its folder, for callers who have its `metadata.modules`
skill://organization/NAME/SKILL.md         the organization's: its documents under `skills/NAME/`, as an administrator
                                           has reviewed them; others only for their author and administrators
skill://saved-batches/SKILL.md             made of the saved batches that the caller may use
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mcpist.aws.attributes import json_bytes
from mcpist.batch.saved import records
from mcpist.bounded_yaml import YamlError, load_yaml
from mcpist.caller import Caller
from mcpist.errors import FileNotFound, StoreUnavailable
from mcpist.memory import cached
from mcpist.running.policy import refusal_of_all
from mcpist.telemetry import invocation
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES, skill_records
from mcpist_services.rag.documents import front_matter
from mcpist_services.skill_records import FILE, FOLDER

SCHEME = "skill://"
OF_ORGANIZATION = "skill://organization/"
MAX_SKILL_DESCRIPTION_CHARACTERS = 1_024
MAX_FILES, MAX_SKILL_BYTES = 512, 1_000_000
SAVED_DESCRIPTION = "Your organization's saved batches: tools for tasks that it has solved before."
WAITING_MARK = " (not reviewed yet: only its author and administrators see it)"
_NAME = re.compile(r"(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*")

type ReviewState = Literal["approved", "changed", "new"]


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as one caller may read it."""

    path: str
    """Its folder, e.g. `organization/refunds`."""
    frontmatter: Mapping[str, Any]
    files: Mapping[str, str]
    """The texts of its files, by their paths in the folder."""
    review: ReviewState = "approved"

    @property
    def uri(self) -> str:
        """The address of its SKILL.md."""
        return f"{SCHEME}{self.path}/{FILE}"

    @property
    def name(self) -> str:
        """The last part of its folder."""
        return self.path.rpartition("/")[2]

    @property
    def fingerprint(self) -> str:
        """The hash of all its files, which a review is valid for."""
        return hashlib.sha256(json_bytes(dict(self.files))).hexdigest()

    @property
    def line(self) -> str:
        """Its line in the answer of a search."""
        return f"{self.uri}: {self.description}"

    @property
    def description(self) -> str:
        """Its description, with a mark where it waits for an administrator's review."""
        return f"{self.frontmatter['description']}{'' if self.review == 'approved' else WAITING_MARK}"

    @property
    def modules(self) -> list[str]:
        """The modules whose tools it is about."""
        metadata = self.frontmatter.get("metadata")
        return str(metadata.get("modules", "")).split() if isinstance(metadata, dict) else []

    def entry(self) -> dict[str, Any]:
        """Return it as the protocol lists it: its front matter, and each file with the hash of its bytes."""
        resources = [
            {
                "uri": f"{SCHEME}{self.path}/{name}",
                "digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
                "size": len(text.encode()),
            }
            for name, text in sorted(self.files.items())
        ]
        mark = {} if self.review == "approved" else {"_meta": {"mcpist/review": self.review}}
        return {"uri": self.uri, "frontmatter": self.frontmatter, "resources": resources, **mark}


def list_skills(permissions: Permissions) -> Iterator[Skill]:
    """Yield the skills that a caller may read; those of services, which need no store, first."""
    names = {module.name for module in permissions.modules()}
    found = [skill for skill in deployed() if names.issuperset(skill.modules)]
    yield from found
    yield from _own(permissions, names)
    if records.MODULE in names:
        yield from _of_saved_batches(permissions)


def skills_about(module: str, permissions: Permissions) -> list[Skill]:
    """Return the deployed skills about a module that a caller may read."""
    found = [skill for skill in deployed() if module in skill.modules]
    names = {one.name for one in permissions.modules()} if found else set[str]()
    return [skill for skill in found if names.issuperset(skill.modules)]


def own_skills_for(task: str, permissions: Permissions, modules: Collection[str]) -> dict[str, list[Skill]]:
    """Return the organization's skills about some modules, by these; by `rag` others that have half of a task's words.

    None where the documents cannot be read now.
    """
    from mcpist.tools.search.query import stems  # as for a search of tools

    found: dict[str, list[Skill]] = {}
    wanted = set(stems(task))
    try:
        for skill in _own(permissions, {module.name for module in permissions.modules()}):
            words = stems(f"{skill.frontmatter['name']} {skill.frontmatter['description']}")
            fits = wanted and 2 * len(wanted.intersection(words)) >= len(wanted)
            homes = [module for module in skill.modules if module in modules] or (["rag"] if fits else [])
            for home in homes:
                found.setdefault(home, []).append(skill)
    except StoreUnavailable as error:
        invocation.count_error(error.code)
    return found


def find(permissions: Permissions, uri: str) -> Skill:
    """Return the skill whose SKILL.md has an address; FileNotFound if the caller may read none."""
    found = next((skill for skill in list_skills(permissions) if skill.uri == uri), None)
    if found is None:
        raise FileNotFound(path=uri)
    return found


def read(permissions: Permissions, uri: str) -> str:
    """Return the text of a file of a skill."""
    for skill in list_skills(permissions):
        name = uri.removeprefix(f"{SCHEME}{skill.path}/")
        if name in skill.files:
            return skill.files[name]
    raise FileNotFound(path=uri)


def tool_reading(uri: str) -> tuple[str, str, dict[str, str]] | None:
    """Return the tool, with its arguments, by which a file of the organization is read; None for another file."""
    path = uri.removeprefix(OF_ORGANIZATION)
    return ("rag", "get_doc", {"path": f"{FOLDER}{path}"}) if path != uri else None


def children(permissions: Permissions, uri: str) -> dict[str, bool]:
    """Return the addresses directly in a folder, and whether each is a folder; FileNotFound for no folder."""
    files = [f"{SCHEME}{skill.path}/{name}" for skill in list_skills(permissions) for name in skill.files]
    inside = [file.removeprefix(f"{uri}/").split("/") for file in files if file.startswith(f"{uri}/")]
    if not inside:
        raise FileNotFound(path=uri)
    return {f"{uri}/{parts[0]}": len(parts) > 1 for parts in sorted(inside)}


@cached
def deployed() -> tuple[Skill, ...]:
    """Return the skills in the services' folders."""
    texts = ((Path(__file__).parent / name / FILE) for name in NAMES)
    found = (_skill("", {FILE: file.read_text("utf-8")}) for file in texts if file.is_file())
    return tuple(skill for skill in found if skill)


def _own(permissions: Permissions, names: set[str]) -> Iterator[Skill]:
    """Yield the organization's own skills that a caller with these modules may read."""
    if "rag" in names and _may_read_documents(permissions):
        for skill in of_organization(permissions.caller.organization):
            if names >= set(skill.modules) and _may_see(permissions.caller, skill):
                yield skill


def _may_see(caller: Caller, skill: Skill) -> bool:
    """Whether a skill is reviewed, or a caller is an administrator or the author of what waits."""
    is_open = skill.review == "approved" or caller.system_role == "admin"
    return is_open or skill_records.is_author(caller, skill.name, skill.files)


def _may_read_documents(permissions: Permissions) -> bool:
    """Whether roles and policies let a caller read any document."""
    rag = permissions.catalogue.module("rag")
    tool = rag.tools["get_doc"]
    return permissions.allows(tool) and not refusal_of_all(permissions, rag, tool)


def of_organization(organization: str) -> Iterator[Skill]:
    """Yield the skills among an organization's documents, without folders whose SKILL.md has no valid front matter."""
    from mcpist_services.rag.document_store import DocumentStore  # few requests wait for it

    index = DocumentStore.of(organization).index()
    folders: dict[str, dict[str, str]] = {}
    for path in index.entries:
        folder, _, name = path.removeprefix(FOLDER).partition("/")
        if path.startswith(FOLDER) and name:
            folders.setdefault(folder, {})[name] = path
    for folder, paths in folders.items():
        if FILE in paths and len(paths) <= MAX_FILES:
            skill = _skill("organization/", {name: index.text(path) for name, path in paths.items()})
            if skill and skill.path == f"organization/{folder}":
                reviewed = skill_records.reviewed_hash(organization, folder)
                changed: ReviewState = "changed" if reviewed else "new"
                yield replace(skill, review="approved" if reviewed == skill.fingerprint else changed)


def _of_saved_batches(permissions: Permissions) -> Iterator[Skill]:
    """Yield the skill that is made of the saved batches, if there are any."""
    visible = records.read(permissions.caller.organization).of(permissions.caller)
    parts = [f"---\nname: saved-batches\ndescription: {json.dumps(SAVED_DESCRIPTION)}\n---\n# Saved batches\n"]
    for one in visible:
        params = {name: f"<{schema.get('description') or name}>" for name, schema in one.parameters.items()}
        line = {"id": one.name, "module": records.MODULE, "tool": one.name, "params": params, "output": True}
        text = json.dumps(line, ensure_ascii=False)
        parts.append(f"\n## {one.name}\n\n{one.description}\n\n```jsonl\n{text}\n```\n")
    skill = _skill("", {FILE: "".join(parts)}) if visible else None
    if skill:
        yield skill


def _skill(prefix: str, files: Mapping[str, str]) -> Skill | None:
    """Return the skill of some files; None if their SKILL.md is none by the specification."""
    try:
        front = load_yaml(front_matter(files[FILE]) or "")
    except YamlError:
        return None
    name, description = (front.get(field) for field in ("name", "description")) if isinstance(front, dict) else ("", "")
    if not (isinstance(name, str) and isinstance(description, str) and _NAME.fullmatch(name)):
        return None
    fits = 0 < len(description) <= MAX_SKILL_DESCRIPTION_CHARACTERS and sum(map(len, files.values())) <= MAX_SKILL_BYTES
    return Skill(f"{prefix}{name}", front, files) if fits else None
