"""Large results: read, search, query.

An answer that is too large becomes a file, and names it by its path and hash.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.files.parameters import FILE_FORMAT
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Lookup
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist.tools.declare.undo import restores
from mcpist_services.files.lines import MAX_PART_BYTES
from mcpist_services.files.store import FileStore

files = Module(
    "files",
    __doc__,
    api_version="1",
    open_store=FileStore,
    schema_first=True,
    category="knowledge",
    tags=("files", "results"),
)

EXAMPLE = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
File = Annotated[
    str | dict[str, Any],
    Field(json_schema_extra={"format": FILE_FORMAT}),
    f"Its path or sha256, or its reference {{path, sha256}}, e.g. {EXAMPLE}",
]
Limit = Annotated[int, Field(ge=1, le=MAX_ITEMS)]
Offset = Annotated[int, Field(ge=0), "How many to leave out at the beginning"]
Context = Annotated[int, Field(ge=0, le=20), "Lines to show around each"]
Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Columns = Annotated[
    list[Text], Field(max_length=100), "Names, or paths such as user.login; all if left out, e.g. number, title"
]
Conditions = Annotated[
    list[Text],
    Field(max_length=20),
    "All must hold: comments >= 5, title contains crash, title matches ^Fix, closed_at is empty; e.g. state = open",
]
Roles = Annotated[list[Text], Field(max_length=40), "Your roles; [] shares it with nobody, e.g. members"]
FILE = shows("path", "sha256", "size_bytes", "content_type", "created_at", "expires_at", "user", "roles")
# A path ends with the hash: a list of both would show it twice in each row.
LISTED_FILE = shows("path", "size_bytes", "content_type", "created_at", "expires_at", "user", "roles")


@files.reads(shows("part", "content", text="content"))
def read(
    path: File,
    offset: Offset = 0,
    limit: Annotated[int, Field(ge=1, le=MAX_PART_BYTES), "How many lines or bytes"] = 200,
    unit: Literal["lines", "bytes"] = "lines",
) -> Lookup:
    """Read a part of a file. In JSON files each row has a line of its own."""
    return Lookup(FileStore.read, path=path, offset=offset, limit=limit, unit=unit)


@files.reads(shows("offset", "match", "text"))
def search(
    path: File,
    pattern: Annotated[Text, "RE2 syntax; (?i) ignores case, e.g. (?i)error|timeout"],
    context: Context = 0,
    offset: Offset = 0,
    limit: Limit = 50,
) -> Lookup:
    """Find the lines of a file that a pattern matches; their offset is that of read."""
    return Lookup(FileStore.search, path=path, pattern=pattern, context=context, offset=offset, limit=limit)


@files.reads(shows("*"))
def query(
    path: File,
    expression: Annotated[Text, "JMESPath, e.g. [?state=='open'].{number: number, title: title}"],
) -> Lookup:
    """Evaluate an expression over a file of JSON, JSON Lines or YAML."""
    return Lookup(FileStore.query, path=path, expression=expression)


@files.reads(shows("*"), uses=({"columns": ["title"], "where": ["state = open"]},))
def table(
    path: File,
    columns: Columns = [],  # noqa: B006 - never changed
    where: Conditions = [],  # noqa: B006 - never changed
    order_by: Annotated[str, Field(max_length=200), "A column; -column sorts downwards, e.g. -comments"] = "",
    offset: Offset = 0,
    limit: Limit = 50,
) -> Lookup:
    """Show rows of a file: the list of objects that it is, or the longest directly in it."""
    selection = {"columns": columns, "where": where, "order_by": order_by, "offset": offset, "limit": limit}
    return Lookup(FileStore.table, path=path, **selection)


@files.reads(FILE)
def stat(path: File) -> Lookup:
    """Show what is known about a file: its size, type, age, owner, and the roles that it is shared with."""
    return Lookup(FileStore.stat, path=path)


@files.reads(shows("path", "sha256", "size_bytes", "valid"))
def verify(path: File) -> Lookup:
    """Read a file of any size anew and check its hash."""
    return Lookup(FileStore.verify, path=path)


@files.reads(LISTED_FILE)
def list(  # noqa: A001 - the tool's name
    limit: Limit = 50,
    offset: Offset = 0,
    everybody: Annotated[bool, "For administrators: that other people's files exist, without their content"] = False,
) -> Lookup:
    """List your files and those that are shared with you, the newest first."""
    return Lookup(FileStore.list_files, limit=limit, offset=offset, everybody=everybody)


@files.reads(shows("same", "removed", "added", "diff", text="diff"))
def diff(a: File, b: File, context: Context = 3) -> Lookup:
    """Show the lines in which two files differ."""
    return Lookup(FileStore.diff, a=a, b=b, context=context)


@files.writes(FILE, idempotent=True, undo=restores("stat", roles="roles"))
def share(path: File, roles: Roles) -> Lookup:
    """Let the people of some roles read your file; the roles that you leave out no longer can."""
    return Lookup(FileStore.share, path=path, roles=roles)


@files.prompt(search, query, table, read)
def answer_from_file(
    path: Annotated[Text, f"Its path or sha256, e.g. {EXAMPLE}"],
    question: Annotated[Text, "What you want to know, e.g. Which issues are the oldest?"],
) -> None:
    """Answer a question from a file without reading all of it."""
