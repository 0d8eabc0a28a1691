"""The index of all modules: written by the build, and read without importing any module."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

from mcpist.tools.declare.materials import Prompt, Resource, matches_template
from mcpist.tools.declare.module import FIRST_RELEASE, Module, ModuleKind
from mcpist.tools.declare.tool import ASKING, Effect, Tool
from mcpist.tools.search.translation import UNTRANSLATED, Translation
from mcpist.tools.search.word_index import JoinedWordIndex, WordIndex

if TYPE_CHECKING:
    from mcpist.tools.search.words import SearchWords

FORMAT = 6  # of an index as text
WORD_PARTS = ("words", "names", "synonyms", "vectors")
MAX_CACHED_JOINS = 64
MARKS: Mapping[Effect, str] = {"reads": "", "writes": "! ", "asks": "!? ", "destroys": "!! "}
MARKS_LEGEND = "! writes, !? asks, !! destroys"
MAX_DESCRIPTION_CHARACTERS = 200  # of a description in a line; the full schema has all of it


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool as it is listed: one line for the model, and the facts that permissions depend on."""

    module: str
    name: str
    effect: Effect
    needs_allow: bool
    """Whether a role has it only where one of the role's masks allows it."""
    signature: str
    """How it is called and what it answers, in one line."""
    summary: str
    """The first line of its description, cut where it is long."""
    about: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Its metadata where they differ from the module's."""

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.effect == "reads"

    @property
    def asks(self) -> bool:
        """Whether a person must agree to each use."""
        return self.effect in ASKING

    def line(self, translation: Translation = UNTRANSLATED) -> str:
        """Return the line that the model reads."""
        return f"{self.signature}: {MARKS[self.effect]}{translation.text(self.summary)}"

    @classmethod
    def of(cls, tool: Tool, module: Mapping[str, Any]) -> Self:
        """Return the entry of a tool; `module` are the module's metadata."""
        first = tool.description.partition("\n")[0]
        first = first if len(first) <= MAX_DESCRIPTION_CHARACTERS else f"{first[: MAX_DESCRIPTION_CHARACTERS - 1]}…"
        about = {name: value for name, value in tool.about.items() if value != module.get(name)}
        return cls(tool.module, tool.name, tool.effect, tool.needs_allow, tool.signature, first, about)


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """A resource as it is listed, with the tool that reads it, if one does."""

    name: str
    template: str
    description: str
    mime_type: str
    variables: tuple[str, ...]
    tool: str
    needs_allow: bool = False
    """Whether a role has it only where one of the role's masks allows it."""
    listed_by: str = ""
    """The tool that lists those that there are, if one does."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it needs."""
        return (self.tool,) if self.tool else ()

    def listed_in(self, module: str) -> ToolEntry:
        """Return it as permissions see it: like a tool that reads, with a name of its own."""
        return ToolEntry(module, f"resources.{self.name}", "reads", self.needs_allow, "", "")

    def matches(self, uri: str) -> bool:
        """Return whether an address is this resource's, or one that its template makes."""
        return matches_template(self.template, uri) if self.variables else uri == self.template

    @classmethod
    def of(cls, resource: Resource) -> Self:
        """Return the entry of a resource."""
        return cls(
            resource.name,
            resource.template,
            resource.description,
            resource.mime_type,
            tuple(resource.variables),
            resource.tool.name,
            listed_by=resource.listed_by.name if resource.listed_by else "",
        )


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """A prompt as it is listed, with the tools that it needs; an argument is `{name, description?, required}`."""

    name: str
    description: str
    arguments: tuple[dict[str, Any], ...]
    tools: tuple[str, ...]
    needs_allow: bool = False
    """Whether a role has it only where one of the role's masks allows it."""

    def listed_in(self, module: str) -> ToolEntry:
        """Return it as permissions see it: like a tool that reads, with a name of its own."""
        return ToolEntry(module, f"prompts.{self.name}", "reads", self.needs_allow, "", "")

    @classmethod
    def of(cls, prompt: Prompt) -> Self:
        """Return the entry of a prompt."""
        schema = prompt.input_schema
        arguments = [
            {"name": name, "required": name in schema.get("required", [])}
            | ({"description": spec["description"]} if "description" in spec else {})
            for name, spec in schema["properties"].items()
        ]
        return cls(prompt.name, prompt.description, tuple(arguments), tuple(tool.name for tool in prompt.tools))


type Material = ResourceEntry | PromptEntry
"""A module's resource or prompt, whose masks are written like `tracker.resources.*` or `notes.prompts.review`."""


@dataclass(frozen=True, slots=True)
class ModuleEntry:
    """A module as it is listed."""

    name: str
    description: str
    api_version: str
    service: str | None
    """The service whose grant the tools need."""
    about: dict[str, Any]
    tools: dict[str, ToolEntry] = field(default_factory=dict)
    resources: dict[str, ResourceEntry] = field(default_factory=dict)
    prompts: dict[str, PromptEntry] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    """Fields that are added to the module's schemas."""
    listed: bool = True
    """False for a category whose tools could not be read yet."""
    kind: ModuleKind = "service"
    registered_at: str = FIRST_RELEASE

    @property
    def materials(self) -> tuple[Material, ...]:
        """Its resources and prompts."""
        return (*self.resources.values(), *self.prompts.values())

    @classmethod
    def of(cls, module: Module) -> Self:
        """Return the entry of a module."""
        return cls(
            module.name,
            module.description,
            module.api_version,
            module.service,
            {**module.about, "tags": list(module.about.get("tags", ()))},
            {name: ToolEntry.of(tool, module.about) for name, tool in module.tools.items()},
            {name: ResourceEntry.of(resource) for name, resource in module.resources.items()},
            {name: PromptEntry.of(prompt) for name, prompt in module.prompts.items()},
            kind=module.kind,
            registered_at=module.registered_at,
        )


class Index:
    """The entries of all modules, and the words that a search finds their tools by."""

    def __init__(self, modules: Iterable[ModuleEntry], words: WordIndex) -> None:
        self.modules = {module.name: module for module in modules}
        self.words = words

    @cached_property
    def tools(self) -> list[ToolEntry]:
        """All tools, numbered as in the words."""
        return [tool for module in self.modules.values() for tool in module.tools.values()]

    @classmethod
    def of(cls, modules: Iterable[Module], words: "Mapping[str, SearchWords] | None" = None) -> Self:
        """Return the index of modules; `words` are those of each module that only the search reads."""
        modules, known = list(modules), words or {}
        texts = (
            tool.words | (known[module.name].phrases.get(tool.name, {}) if module.name in known else {})
            for module in modules
            for tool in module.tools.values()
        )
        synonyms = (known[one.name].synonyms if one.name in known else one.synonyms for one in modules)
        return cls(map(ModuleEntry.of, modules), WordIndex.of(texts, "".join(synonyms)))

    def dump(self) -> str:
        """Return the index as one line of JSON."""
        modules = [asdict(module) for module in self.modules.values()]
        for module in modules:
            module["tools"] = [list(tool.values())[1:] for tool in module["tools"].values()]
        words = {part: getattr(self.words, part) for part in WORD_PARTS}
        content = {"format": FORMAT, "modules": modules, **words}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> Self:
        """Return the index that `dump` wrote; ValueError for one that a release with another format wrote."""
        content = json.loads(text)
        if content.get("format") != FORMAT:
            raise ValueError(f"the index has not format {FORMAT}")
        count = sum(len(module["tools"]) for module in content["modules"])
        words = WordIndex(count, *(content[part] for part in WORD_PARTS))
        return cls(map(_module, content["modules"]), words)


@lru_cache(MAX_CACHED_JOINS)
def join_indexes(first: Index, second: Index) -> Index:
    """Return one index of two; it is made once, until one of them changes."""
    return Index([*first.modules.values(), *second.modules.values()], JoinedWordIndex(first.words, second.words))


def _module(content: dict[str, Any]) -> ModuleEntry:
    tools, resources, prompts = content.pop("tools"), content.pop("resources"), content.pop("prompts")
    return ModuleEntry(
        **content,
        tools={tool[0]: ToolEntry(content["name"], *tool) for tool in tools},
        resources={name: ResourceEntry(**_tuples(resource)) for name, resource in resources.items()},
        prompts={name: PromptEntry(**_tuples(prompt)) for name, prompt in prompts.items()},
    )


def _tuples(content: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}
