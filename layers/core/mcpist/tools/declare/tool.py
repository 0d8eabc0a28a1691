"""A tool: one operation of a module; most are declared by a pure function."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypedDict

from pydantic import BaseModel, ValidationError

from mcpist.errors import InvalidArguments
from mcpist.files.reference import schema_errors
from mcpist.render.shows import Shows
from mcpist.tools.declare.argument_problems import ArgumentProblem, model_problems, schema_problems
from mcpist.tools.declare.call import Call, Work
from mcpist.tools.declare.paging import PageRequest, Paging, pages, paging_parameters
from mcpist.tools.declare.pasted import PastedArguments, address_of
from mcpist.tools.declare.schema import example_of, model_of, parameter_lines, parameters_of, schema_of, values_of
from mcpist.tools.declare.undo import From, Undo
from mcpist.validation import field_schema

type PagePath = Callable[[Mapping[str, Any], Mapping[str, Any]], str | None]
"""Returns the path of an item's page at the account's own site, from the item and the tool's arguments."""
type Effect = Literal["reads", "writes", "asks", "destroys"]
EFFECTS: tuple[Effect, ...] = ("reads", "writes", "asks", "destroys")
"""From the weakest to the strongest; what asks is a write to which a person must agree, though it destroys nothing."""
ASKING: frozenset[Effect] = frozenset({"asks", "destroys"})
"""The effects of tools to whose use a person must agree."""
type SearchField = Literal["name", "service", "description", "parameters", "phrases", "japanese_phrases"]
"""A field of the words that a search finds a tool by; words in some fields count more than in others."""

PAGING_PARAMETERS = tuple(inspect.signature(paging_parameters).parameters)


class ModuleMetadata(TypedDict, total=False):
    """Metadata of a whole module, and of a tool where it differs."""

    version: str
    category: str
    author: str
    tags: tuple[str, ...]


class Example(TypedDict):
    """An example call."""

    description: str
    parameters: dict[str, Any]
    expectedResult: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool(ABC):
    """One operation of a module."""

    module: str
    """The module's name."""
    effect: Effect
    shows: Shows
    """The fields of the compact answer."""
    about: ModuleMetadata
    operation: str = ""
    """The operation's id in the vendor's API description."""
    idempotent: bool = False
    """Whether a second equal call changes nothing more."""
    reveals: bool = False
    """Whether the answer shows secrets."""
    paging: Paging | None = None
    """How the list is paged whose first page the tool describes."""
    cache_seconds: int = 0
    """How long a response may be reused, in seconds."""
    page_path: PagePath | None = None
    """Where the items' pages are; None where they have none."""
    undo: Undo | None = None
    """What undoes it; None where nothing does, or nobody has said it."""
    tells: Mapping[str, From] = field(default_factory=dict)
    """The people that the service tells of a write, by kind, e.g. its guests; true where they are not known by name."""
    costs: str = ""
    """What a use costs, in a few words; empty where that is not known."""
    irreversible: str = ""
    """Why nothing undoes it, e.g. "a message that was sent"; empty where something does, or nobody has said it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in the module."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The description that the model reads."""

    @property
    @abstractmethod
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """The name, the parameters and the answer in one line."""

    @property
    def output_schema(self) -> dict[str, Any]:
        """The fields of the compact answer: `{format, fields}`."""
        return {"format": self.shows.format, "fields": self.shows.fields}

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.effect == "reads"

    @property
    def asks(self) -> bool:
        """Whether a person must agree to each use."""
        return self.effect in ASKING

    @property
    def is_effect_declared(self) -> bool:
        """Whether its effect is known; else it is only assumed to destroy."""
        return True

    @property
    def is_closed_world(self) -> bool:
        """Whether a server says that nobody outside has a part in what it answers."""
        return False

    @property
    def needs_allow(self) -> bool:
        """Whether a role has it only where one of the role's masks allows it."""
        return not self.reads or self.reveals

    @property
    def words(self) -> dict[SearchField, str]:
        """The words that a search finds the tool by."""
        names = [*self.input_schema.get("properties", {}), *self.shows.fields, *self.about.get("tags", ())]
        return {
            "name": self.name,
            "service": self.module,
            "description": self.description,
            "parameters": " ".join(names),
        }

    @property
    def pasted(self) -> PastedArguments:
        """The arguments in whose place people paste addresses."""
        return PastedArguments()

    @property
    def examples(self) -> list[Example]:
        """Example calls, where any are known."""
        return []

    @abstractmethod
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with defaults; InvalidArguments with the field's schema for the next try."""

    @abstractmethod
    def check(self, arguments: Mapping[str, Any], unresolved: Collection[str]) -> None:
        """Refuse arguments that are wrong already, while the values of the `unresolved` fields are not known yet."""

    @abstractmethod
    def describe_work(self, arguments: Mapping[str, Any]) -> Work:
        """Return the work for arguments that have been validated."""

    def masked(self, json: Any) -> Any:
        """Return an answer with a mask in the place of each secret that the tool is not there to reveal."""
        return json

    def invalid(self, problems: Sequence[ArgumentProblem]) -> InvalidArguments:
        """Return the error for the first of some problems, with the others; each has the schema of its field.

        Of a field that does not exist, the first has the tool's schema.
        """
        first, *others = (
            problem._asdict() | {"schema": field_schema(self.input_schema, problem.field)} for problem in problems
        )
        for other in others:
            if other["schema"] == self.input_schema:
                del other["schema"]
        further = {"problems": others} if others else {}
        return InvalidArguments(module=self.module, tool=self.name, **first, **further)


@dataclass(frozen=True, eq=False, kw_only=True)
class DeclaredTool(Tool):
    """A tool declared by a function: the signature is the schema, the docstring the description."""

    function: Callable[..., Work]
    uses: tuple[Mapping[str, Any], ...] = ()
    """Optional arguments, each set of which makes an example, for a tool that needs one of several."""
    schema_first: bool = False
    """Whether the published schema checks arguments before the model does, which also takes `"5"` for 5."""

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """The docstring, as the model reads it."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The model that arguments are checked against, built when it is first needed."""
        parameters = parameters_of(self.function) + (parameters_of(paging_parameters) if self.paging else [])
        return model_of(parameters, f"{self.module}_{self.name}")

    @cached_property
    def pasted(self) -> PastedArguments:
        """The arguments in whose place people paste addresses."""
        parameters = parameters_of(self.function)
        addresses = {each.name: address for each in parameters if (address := address_of(each.annotation))}
        required = [each.name for each in parameters if each.default is each.empty]
        return PastedArguments(addresses, [each.name for each in parameters], required)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return schema_of(self.arguments)

    @cached_property
    def signature(self) -> str:
        """One line: `get_issue(owner, repo, number: integer, state?: open|closed) -> fields`; lists end in `paging`."""
        own = parameter_lines(self.input_schema, leave_out=PAGING_PARAMETERS if self.paging else ())
        parameters = ", ".join([*own, *(["...paging"] if self.paging else [])])
        return f"{self.name}({parameters}) -> {', '.join(self.shows.fields)}"

    @cached_property
    def examples(self) -> list[Example]:
        """The call with the required arguments alone; with each of `uses` added, where the declaration gives any."""
        properties, required = self.input_schema["properties"], self.input_schema.get("required", [])
        least = {name: example_of(properties[name]) for name in required}
        brings = f"{self.shows.format}: {', '.join(self.shows.fields)}"
        first = self.description.partition("\n")[0]
        uses = [{**least, **use} for use in self.uses or ({},)]
        return [Example(description=first, parameters=use, expectedResult=brings) for use in uses]

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with defaults; InvalidArguments with the field's schema for the next try."""
        if self.schema_first and (found := schema_errors(self.input_schema, dict(arguments))):
            raise self.invalid(schema_problems(found, arguments))
        arguments = self._read_addresses(arguments)
        try:
            model = self.arguments.model_validate(arguments)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            raise self.invalid(model_problems(problems, arguments, self.input_schema)) from None
        return values_of(model)

    def check(self, arguments: Mapping[str, Any], unresolved: Collection[str]) -> None:
        """Refuse arguments that are wrong already, while the values of the `unresolved` fields are not known yet."""
        known = {name: value for name, value in arguments.items() if name not in unresolved}
        # Fields whose values are not known yet are left out, but one that does not exist is wrong whatever its value.
        unknown = {name: None for name in unresolved if name not in self.input_schema["properties"]}
        read = self._read_addresses(known)
        known |= {name: value for name, value in read.items() if name not in unresolved}
        try:
            self.arguments.model_validate(known | unknown)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            known_now = [one for one in found if one["type"] != "missing" or one["loc"][0] not in unresolved]
            if problems := model_problems(known_now, known | unknown, self.input_schema):
                raise self.invalid(problems) from None

    def _read_addresses(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        read, problems = self.pasted.read(arguments)
        if problems:
            raise self.invalid(problems)
        return read

    def describe_work(self, arguments: Mapping[str, Any]) -> Work:
        """Return the work for arguments that have been validated."""
        if self.paging is None:
            return self.function(**arguments)
        own = {name: value for name, value in arguments.items() if name not in PAGING_PARAMETERS}
        page_request = PageRequest(**{name: arguments[name] for name in PAGING_PARAMETERS})
        first = self.function(**own)
        if not isinstance(first, Call | Generator):
            raise TypeError(f"{self.module}.{self.name} is declared as a list, but does not return a Call")
        return pages(self.module, first, self.paging, self.shows.rows, page_request)
