"""The messages to `program_runner` and its responses.

A response is `{"result": ...}` or `{"error": {"type", "details"}}`. Bytes are base64 in JSON.
"""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

# All bytes of a message together: Lambda takes 6 MB, and base64 makes a third more of them.
MAX_INLINE_BYTES = 3_000_000
MAX_FILES = 100
MAX_UPLOADS = 8
MAX_FILE_BYTES = 64_000_000
MAX_STDOUT_BYTES = 2_000_000
MAX_STDERR_BYTES = 8_000

# Variables by which the Lambda runtime, the AWS SDKs and the dynamic loader are configured.
_RESERVED_VARIABLE = re.compile(r"^(AWS_|LAMBDA_|LD_|_)|^(HOME|PATH|TMPDIR)$")


def file_name_problem(name: str) -> str:
    """Return why a file of a run may not have this name, which is a path within the run's folder; empty if it may."""
    if not 0 < len(name.encode(errors="replace")) <= 255:
        return "a name has 1 to 255 bytes"
    if not name.isprintable():
        return "a name has no line break and no other control character"
    if "\\" in name or name.startswith("/") or not {"", ".", ".."}.isdisjoint(name.split("/")):
        return "a name is a path within the folder: no leading /, no empty part, no . and .., no backslash"
    return ""


def _check_file_name(name: str) -> str:
    if problem := file_name_problem(name):
        raise ValueError(problem)
    return name


def _check_variable(name: str) -> str:
    if _RESERVED_VARIABLE.match(name):
        raise ValueError("this variable is the runner's own")
    return name


def _check_no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("an argument has no NUL")
    return text


type Argument = Annotated[str, Field(max_length=100_000), AfterValidator(_check_no_nul)]
type ContentType = Annotated[str, StringConstraints(pattern=r"^[a-z0-9.+-]+/[a-z0-9.+-]+$", max_length=100)]
type FileName = Annotated[str, AfterValidator(_check_file_name)]
type Id = Annotated[str, StringConstraints(min_length=1, max_length=128)]
type Sha256 = Annotated[str, StringConstraints(pattern=r"^[a-f0-9]{64}$")]
type Variable = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128), AfterValidator(_check_variable)
]


class MessageModel(BaseModel):
    """Model whose errors do not quote the refused value; its bytes are base64 in JSON.

    While a release rolls out, a door may be newer than the runner: fields that this release does not know are ignored.
    """

    model_config = ConfigDict(
        extra="ignore", frozen=True, hide_input_in_errors=True, ser_json_bytes="base64", val_json_bytes="base64"
    )


class Limits(MessageModel):
    """The limits of a run, after which it is killed."""

    seconds: float = Field(20, gt=0, le=55)
    memory_bytes: int = Field(1 << 30, ge=1 << 24, le=8 << 30)
    """The private writable memory of each process, and the shared memory of all."""
    processes: int = Field(64, ge=1, le=512)
    file_bytes: int = Field(MAX_FILE_BYTES, ge=1, le=MAX_FILE_BYTES)
    """The size of each file that it writes."""
    folder_bytes: int = Field(4 * MAX_FILE_BYTES, ge=1, le=4 * MAX_FILE_BYTES)
    """The size of its whole folder."""
    stdout_bytes: int = Field(MAX_STDOUT_BYTES, ge=1, le=MAX_STDOUT_BYTES)


class InputFile(MessageModel):
    """A file that lies in the folder when the program starts: its content, or a presigned URL of it."""

    name: FileName
    sha256: Sha256
    size_bytes: int = Field(ge=0, le=MAX_FILE_BYTES)
    content: bytes | None = None
    url: str = Field("", repr=False)


class OutputRule(MessageModel):
    """Which files of the folder are outputs: those that a glob matches, in which `**` stands for any folders."""

    glob: FileName
    content_type: ContentType
    required: bool = False
    """Whether a run without such a file is an error."""


class Upload(MessageModel):
    """A presigned POST of S3, with which one large output can be left."""

    url: str
    fields: dict[str, str] = Field(repr=False)


class ProgramRequest(MessageModel):
    """One run of a program."""

    operation: Literal["run"] = "run"
    correlation: str = Field("", max_length=64)
    traceparent: str = Field("", max_length=64)
    organization: Id
    program: FileName | Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f]*$", max_length=1000)]
    """A path within the package of programs, or an absolute path that the allow-list of this machine has."""
    arguments: tuple[Argument, ...] = Field((), max_length=1_000)
    """argv without the program itself."""
    stdin: bytes = Field(b"", max_length=MAX_INLINE_BYTES)
    stdin_file: FileName | None = None
    """An input file that is the standard input, in place of `stdin`."""
    environment: dict[Variable, Argument] = Field(default_factory=dict)
    """Variables beside PATH, HOME, TMPDIR, LANG and TZ; it inherits no other."""
    inputs: tuple[InputFile, ...] = Field((), max_length=MAX_FILES)
    outputs: tuple[OutputRule, ...] = Field((), max_length=MAX_FILES)
    uploads: tuple[Upload, ...] = Field((), max_length=MAX_UPLOADS)
    limits: Limits = Limits()
    network: bool = False
    """Whether it may open sockets."""
    reads_files: bool = False
    """Whether its language can name files: then, on one machine, it runs only where all others are hidden from it."""


class Output(MessageModel):
    """A file that a program made: its content, or the number of the upload that holds it."""

    name: FileName
    sha256: Sha256
    size_bytes: int
    content_type: ContentType
    content: bytes | None = None
    upload: int | None = None


class ProgramResult(MessageModel):
    """The end of a run; a run that the runner refuses or must end is a typed error instead."""

    exit_code: int | None
    """None if a signal ended it."""
    signal: str = ""
    """The name of that signal, e.g. SIGSEGV."""
    stdout: bytes
    stderr_tail: str
    """The end of its standard error."""
    outputs: tuple[Output, ...]
    milliseconds: int
    isolation: tuple[str, ...]
    """What kept it apart here, e.g. ("pid", "network", "seccomp")."""


class ServerDeclaration(MessageModel):
    """A stdio MCP server, with its secrets in place."""

    type: ClassVar[Literal["stdio"]] = "stdio"
    """As of any upstream server."""
    name: str
    """The server's name, as errors say it."""
    command: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict, repr=False)
    timeout_seconds: float
    result_bytes: int
    concurrency: int


class ServerRequest(MessageModel):
    """One request to a stdio MCP server, whose session is the organization's own."""

    operation: Literal["ask"] = "ask"
    correlation: str = Field("", max_length=64)
    traceparent: str = Field("", max_length=64)
    organization: str = Field(max_length=128)
    """Empty for the lists of the deployment's own servers, which no caller has asked for."""
    server: ServerDeclaration
    method: Literal["list", "call", "read", "prompt"]
    name: str = ""
    """The tool, the resource's address, or the prompt."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The arguments of a tool or a prompt."""
    reads: bool = False
    """Whether the request may be sent again if the session breaks."""
    seconds: float = Field(gt=0)
    """How long the door waits."""


type Message = ProgramRequest | ServerRequest

MESSAGE_ADAPTER: TypeAdapter[Message] = TypeAdapter(
    Annotated[Message, Field(discriminator="operation")], config=ConfigDict(hide_input_in_errors=True)
)
