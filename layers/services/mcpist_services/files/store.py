"""The files of one caller, as the module's tools ask them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mcpist.caller import Caller
from mcpist.errors import InvalidRequest
from mcpist.files import access, records, storage
from mcpist.files.access import Address
from mcpist.files.answers import describe
from mcpist.files.records import FileRecord
from mcpist.files.values import Row, find_rows, parse
from mcpist.tools.declare.call import PartialList
from mcpist_services.files import queries
from mcpist_services.files.lines import Part, compare, read_bytes, read_lines, search_lines
from mcpist_services.files.rows import select

SHOWN_OF_OTHERS = ("user", "size_bytes", "content_type", "created_at", "expires_at", "roles")

NULL_FOUND = "The expression finds null in this file, which is: {shape}"

type Unit = Literal["lines", "bytes"]


@dataclass(frozen=True, slots=True)
class FileStore:
    """The files that a caller may read."""

    caller: Caller

    def read(self, path: Address, offset: int, limit: int, unit: Unit) -> Part:
        """Return a part of a file."""
        text = access.load_text(self.caller, path)[1]
        return read_lines(text, offset, limit) if unit == "lines" else read_bytes(text.encode(), offset, limit)

    def search(self, path: Address, pattern: str, context: int, offset: int, limit: int) -> list[Row] | PartialList:
        """Return the lines of a file that a pattern matches."""
        return search_lines(access.load_text(self.caller, path)[1], pattern, context, offset, limit)

    def query(self, path: Address, expression: str) -> Any:
        """Return the result of a JMESPath expression on the value of a file."""
        value = self._value(path)
        found = queries.search(value, expression)
        return found if found is not None else PartialList(None, NULL_FOUND.format(shape=describe(value)))

    def table(self, path: Address, **selection: Any) -> list[Row] | PartialList:
        """Return rows of a file; `selection` has the options of `select`."""
        found = find_rows(self._value(path))
        if found is None:
            problem = "it holds no list of objects: look at it with read, or reach into it with query"
            raise InvalidRequest(field="path", problem=problem)
        return select(found.rows, **selection)

    def stat(self, path: Address) -> Row:
        """Return the record of a file, without reading its content."""
        return _row(access.find(self.caller, path))

    def verify(self, path: Address) -> Row:
        """Read the whole of a file again and check its hash."""
        file = access.find(self.caller, path)
        size = storage.verify(file.key, file.sha256)
        return {"path": file.path, "sha256": file.sha256, "size_bytes": size, "valid": True}

    def list_files(self, limit: int, offset: int, *, everybody: bool) -> Sequence[Row] | PartialList:
        """Return the caller's files and those shared with it; of everybody's an administrator sees that they exist."""
        if everybody:
            # Without their hashes, by which a content could be guessed.
            rows = [_row(file) for file in access.list_existing(self.caller)]
            found = [{name: row[name] for name in SHOWN_OF_OTHERS} for row in rows]
        else:
            own = records.find_all(self.caller.organization, self.caller.user)
            shared = records.find_shared(self.caller.organization, self.caller.role_names)
            found = [_row(file) for file in (*own, *(file for file in shared if file.user != self.caller.user))]
        end = offset + limit
        rows = found[offset:end]
        return rows if end >= len(found) else PartialList(rows, f"{len(found)} files: go on with offset={end}.")

    def diff(self, a: Address, b: Address, context: int) -> Row:
        """Return the lines in which two files differ."""
        (_, old), (_, new) = access.load_text(self.caller, a, "a"), access.load_text(self.caller, b, "b")
        return compare(old, new, context)

    def share(self, path: Address, roles: Sequence[str]) -> Row:
        """Share a file with exactly these roles."""
        return _row(access.share(self.caller, path, roles))

    def _value(self, path: Address) -> Any:
        file, text = access.load_text(self.caller, path)
        try:
            return parse(text, file.content_type)
        except ValueError as error:
            raise InvalidRequest(field="path", problem=str(error)) from None


def _row(file: FileRecord) -> Row:
    return {**asdict(file), "path": file.path, "expires_at": file.expiry, "roles": list(file.roles)}
