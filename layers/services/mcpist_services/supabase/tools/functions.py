"""API keys, secrets, Edge Functions and storage buckets."""

import json
from collections.abc import Iterable
from email.parser import BytesParser
from email.policy import HTTP
from typing import Annotated, Any, TypedDict

from pydantic import Field, with_config

from mcpist.errors import NotUndoable, ToolExecutionError
from mcpist.files.content import FileContent
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, FilePart, ServiceResponse, given
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo
from mcpist_services.supabase.module import ADDRESSES, Name, ProjectRef, project_path, supabase
from mcpist_services.supabase.rows import masked


@with_config(extra="forbid", coerce_numbers_to_str=True)
class SourceFile(TypedDict):
    """A source file of an Edge Function."""

    path: Annotated[str, Field(min_length=1)]
    content: str


SOURCES = 'Whole texts, e.g. [{"path": "index.ts", "content": "Deno.serve(() => new Response())"}]'
FunctionSlug = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_-]+$"),
    from_url(ADDRESSES, "function_slug"),
    "As list_functions shows it, e.g. send-mail",
]
NewSlug = Annotated[
    str,
    Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$"),
    from_url(ADDRESSES, "function_slug"),
    "A new one, or that of list_functions, e.g. send-mail",
]
FUNCTION = ("slug", "name", "status", "version", "verify_jwt", "created_at as created", "updated_at as updated")


@supabase.reads(shows("name", "type", "api_key", "description", "url"), "v1-get-project-api-keys")
def get_api_keys(project_ref: ProjectRef) -> Calls:
    """List a project's URL and API keys: publishable keys whole, of secret ones the first characters only."""
    keys = (yield Call("GET", project_path(project_ref, "/api-keys"))).json
    return [masked(key) | {"url": f"https://{project_ref}.supabase.co"} for key in keys]


@supabase.reads(shows("name", "updated_at as updated"), "v1-list-all-secrets")
def list_secrets(project_ref: ProjectRef) -> Calls:
    """List the names of the secrets that Edge Functions use, never their values."""
    secrets = (yield Call("GET", project_path(project_ref, "/secrets"))).json
    return [{"name": secret["name"], "updated_at": secret.get("updated_at")} for secret in secrets]


@supabase.reads(shows(*FUNCTION), "v1-list-all-functions")
def list_functions(project_ref: ProjectRef) -> Call:
    """List a project's Edge Functions."""
    return Call("GET", project_path(project_ref, "/functions"))


@supabase.reads(shows("id", *FUNCTION, "entrypoint_path", "import_map"), "v1-get-a-function")
def get_function(project_ref: ProjectRef, function_slug: FunctionSlug) -> Call:
    """Read one Edge Function: its state, version and entry point."""
    return Call("GET", project_path(project_ref, "/functions/{function_slug}", function_slug=function_slug))


@supabase.reads(shows("path", "content"), "v1-get-a-function-body")
def get_function_code(project_ref: ProjectRef, function_slug: FunctionSlug) -> Calls:
    """Read the source files of an Edge Function."""
    place = project_path(project_ref, "/functions/{function_slug}/body", function_slug=function_slug)
    answer = yield Call("GET", place, headers={"accept": "multipart/form-data"}, text=True)
    return source_files(answer)


def _code(files: Any, _: ToolChange) -> dict[str, Any]:
    return {"files": sorted([each["path"], each["content"]] for each in files)}


def _deployed(change: ToolChange) -> dict[str, Any]:
    return _code(change.arguments["files"], change)


def _former_code(change: ToolChange) -> Iterable[ToolCall]:
    """Return the deployment of the code that a function had."""
    if change.before is None:
        raise NotUndoable(tool=change.tool, problem="the function is new, and no tool deletes one")
    return [ToolCall("deploy_function", {**change.arguments, "files": change.before})]


@supabase.destroys(
    shows("slug", "version", "status", "entrypoint_path"),
    "v1-deploy-a-function",
    undo=Undo(calls=_former_code, read="get_function_code", state=_code, after=_deployed),
)
def deploy_function(
    project_ref: ProjectRef,
    function_slug: NewSlug,
    files: Annotated[list[SourceFile], Field(min_length=1, max_length=200), SOURCES],
    entrypoint_path: Annotated[Name, "The path of the file that serves, e.g. index.ts"] = "index.ts",
    import_map_path: Annotated[
        Name | None, "The path of a deno.json or import map among the files, e.g. deno.json"
    ] = None,
    verify_jwt: Annotated[bool, "Let callers in with a valid JWT alone"] = True,
) -> Call:
    """Deploy an Edge Function from its source files: a new one, or all of one that runs."""
    metadata = given(name=function_slug, entrypoint_path=entrypoint_path, import_map_path=import_map_path)
    parts = [FilePart(file["path"], FileContent.of_text(file["content"])) for file in files]
    body: dict[str, Any] = {"metadata": json.dumps(metadata | {"verify_jwt": verify_jwt}), "file": parts}
    return Call("POST", project_path(project_ref, "/functions/deploy"), {"slug": function_slug}, multipart=body)


@supabase.reads(shows("id", "name", "public", "created_at as created"), "v1-list-all-buckets")
def list_buckets(project_ref: ProjectRef) -> Call:
    """List a project's storage buckets, and whether anybody may read them."""
    return Call("GET", project_path(project_ref, "/storage/buckets"))


def source_files(answer: ServiceResponse) -> list[dict[str, Any]]:
    """Return the path and the text of each file."""
    kind = answer.headers.get("content-type", "")
    if not kind.startswith("multipart/"):
        problem = "it answers the function as a bundle, without its source files"
        raise ToolExecutionError(service="supabase", http_status=200, problem=problem)
    head = f"content-type: {kind}\r\n\r\n"
    message = BytesParser(policy=HTTP).parsebytes((head + str(answer.json or "")).encode(errors="replace"))
    parts = [(part.get_filename(), part.get_payload(decode=True)) for part in message.iter_parts()]
    return [
        {"path": path, "content": content.decode(errors="replace")}
        for path, content in parts
        if path and isinstance(content, bytes)
    ]
