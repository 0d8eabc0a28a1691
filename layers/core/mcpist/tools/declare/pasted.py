"""Pasted addresses in the place of an id: each part of one is compared with the other arguments, or fills them.

A service declares its addresses once, as patterns whose groups have the names of arguments, such as `owner`. A part
that tools know by several names has them all: `issue_number__pull_number`. `site` is compared with the account's.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import unquote, urlsplit

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_before_validator_function

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.argument_problems import ArgumentProblem

SITE = "site"

type AddressParts = Mapping[str, str]
type AddressReader = Callable[[str], AddressParts]


def address_reader(*patterns: str) -> AddressReader:
    """Read an address by all patterns that match at its beginning."""

    def read(address: str) -> AddressParts:
        found = (match for pattern in patterns if (match := re.match(pattern, address)))
        return {name: unquote(text) for match in found for name, text in match.groupdict().items() if text}

    return read


@dataclass(frozen=True, slots=True)
class PastedAddress:
    """Takes an address in the place of a value; as a note of a type it stands after the type's `Field`."""

    read_address: AddressReader
    part: str
    """The part that is the value."""
    short_forms: tuple[str, ...] = ()
    """Patterns of other texts in which people write the value, such as `owner/repo`."""
    fills: tuple[str, ...] = ()
    """The parts that an optional argument is taken from where it is left out; a required one is always."""

    def parts(self, value: object) -> AddressParts:
        """Return the parts of an address; none of another text."""
        text = value.strip() if isinstance(value, str) else ""
        if text.startswith("https://"):
            return self.read_address(text)
        found = next((match for form in self.short_forms if (match := re.fullmatch(form, text))), None)
        return {name: part for name, part in found.groupdict().items() if part} if found else {}

    def value_of(self, value: object) -> object:
        """Return the value in an address, and any other text as it is."""
        found = self.parts(value).get(self.part)
        if found is None and isinstance(value, str) and value.strip().startswith("https://"):
            raise PydanticCustomError("address", "it is not the address of such a thing: give its id")
        return value if found is None else found

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read the value before its type is checked."""
        return no_info_before_validator_function(self.value_of, handler(source))


def from_url(read_address: AddressReader, part: str, *short_forms: str, fills: tuple[str, ...] = ()) -> PastedAddress:
    """Take an address in the place of a value, which is this part of it."""
    return PastedAddress(read_address, part, short_forms, fills)


def address_of(annotation: Any) -> PastedAddress | None:
    """Return the reader of addresses of a type, or of the items of a list; None without one."""
    notes = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    own = next((note for note in notes if isinstance(note, PastedAddress)), None)
    inner = (found for each in get_args(annotation) if (found := address_of(each)))
    return own or next(inner, None)


@dataclass(frozen=True, slots=True)
class PastedArguments:
    """The arguments of a tool that take addresses."""

    addresses: Mapping[str, PastedAddress] = field(default_factory=dict)
    names: Collection[str] = ()
    """The names of all arguments."""
    required: Collection[str] = ()

    def read(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[ArgumentProblem]]:
        """Return the arguments with those that their addresses name, and a problem for each part that differs."""
        filled, problems = dict(arguments), list[ArgumentProblem]()
        for name, text, parts in self._pasted(arguments):
            for part, value in parts.items():
                other = next((each for each in part.split("__") if each in self.names), None)
                present = filled.get(other or "")
                if other in (None, name) or part == self.addresses[name].part or present == text:
                    continue
                named = parts.get(self.addresses[other].part, value) if other in self.addresses else value
                if present is not None and not self._is_same(other, present, named):
                    problem = f"its address leads to another {other} than {other} names: give what belongs together"
                    problems.append(ArgumentProblem(name, problem))
                elif present is None and (other in self.required or part in self.addresses[name].fills):
                    filled[other] = named
        return filled, problems

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the tool takes them: each address is the value that it names."""
        filled, _ = self.read(arguments)
        for name in self.addresses.keys() & filled.keys():
            given = filled[name]
            filled[name] = (
                [self._value(name, one) for one in given] if isinstance(given, list) else self._value(name, given)
            )
        return filled

    def check_site(self, arguments: Mapping[str, Any], site_url: str) -> None:
        """Refuse the address of another site than the account's."""
        for name, _, parts in self._pasted(arguments) if site_url else ():
            if SITE in parts and parts[SITE].casefold() != urlsplit(site_url).netloc.casefold():
                problem = f"its address is at another site than the connected account, which is at {site_url}"
                raise InvalidRequest(field=name, problem=problem)

    def _pasted(self, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any, AddressParts]]:
        """Yield each text that is an address, with its argument and its parts."""
        for name, address in self.addresses.items():
            given = arguments.get(name)
            for text in given if isinstance(given, list) else [given]:
                if parts := address.parts(text):
                    yield name, text, parts

    def _is_same(self, name: str, present: Any, value: str) -> bool:
        return _plain(self._value(name, present)) == _plain(value)

    def _value(self, name: str, given: Any) -> Any:
        address = self.addresses.get(name)
        return address.parts(given).get(address.part, given) if address else given


def _plain(value: Any) -> str:
    """Return a value without what tells no two things apart: case, dashes of ids, slashes around a path."""
    text = str(value).strip().strip("/").casefold()
    return text.replace("-", "") if re.fullmatch(r"[0-9a-f-]{32,36}", text) else text
