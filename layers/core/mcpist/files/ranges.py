"""Parts of a file's bytes: a range that an HTTP request names, and parts of a text that end between characters.

The whole content is read and its hash checked before any part of it is given away.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs

from mcpist.caller import Caller
from mcpist.errors import InvalidRequest
from mcpist.files import access
from mcpist.files.access import Address
from mcpist.files.records import FileRecord

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class FileRange:
    """Some bytes of a file."""

    file: FileRecord
    content: bytes
    first: int
    """The place of the first byte in the file."""

    @property
    def end(self) -> int:
        """The place after the last byte."""
        return self.first + len(self.content)


def read_range(caller: Caller, address: Address, header: str = "") -> FileRange:
    """Return the bytes that the header `Range` names (RFC 9110), of a file that a caller may read.

    Without a header, and for one of another form, these are all bytes; InvalidRequest for a range past the end.
    """
    file, content = access.load(caller, address)
    named = _RANGE.fullmatch(header.replace(" ", ""))
    if named is None or named.groups() == ("", ""):
        return FileRange(file, content, 0)
    size, (first, last) = len(content), named.groups()
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if begin >= end:
        raise InvalidRequest(field="range", problem=f"no byte of it is in the file, which has {size:,} bytes")
    return FileRange(file, content[begin:end], begin)


def read_part(caller: Caller, address: Address, query: str, max_bytes: int) -> FileRange:
    """Return the part of a file that a resource's query names, `offset=0&limit=1000`, and `max_bytes` at most."""
    file, content = access.load(caller, address)
    offset, limit = _numbers(query)
    if offset > max(0, len(content) - 1):
        raise InvalidRequest(field="offset", problem=f"it is past the end: the file has {len(content):,} bytes")
    begin, end = offset, min(len(content), offset + min(limit or max_bytes, max_bytes))
    if file.is_text:
        begin, end = between_characters(content, begin, end)
    return FileRange(file, content[begin:end], begin)


def between_characters(content: bytes, begin: int, end: int) -> tuple[int, int]:
    """Return the places, moved to where characters of UTF-8 begin."""
    begin = _character_start(content, begin)
    return begin, max(begin, _character_start(content, end))


def _character_start(content: bytes, place: int) -> int:
    place = min(place, len(content))
    # In UTF-8 the bytes 10xxxxxx continue a character.
    while place < len(content) and content[place] & 0xC0 == 0x80:
        place += 1
    return place


def _numbers(query: str) -> tuple[int, int]:
    """Return the offset and the limit of a query, 0 where it names none."""
    numbers = {"offset": 0, "limit": 0}
    for name, (text, *_) in parse_qs(query, keep_blank_values=True).items():
        if name not in numbers or not text.isdecimal() or len(text) > 18:
            raise InvalidRequest(field=name, problem="write ?offset=NUMBER&limit=NUMBER, in bytes")
        numbers[name] = int(text)
    return numbers["offset"], numbers["limit"]
