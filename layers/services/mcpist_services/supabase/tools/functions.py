"""API keys, secrets, Edge Functions and storage buckets."""

from typing import Annotated

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.call import Call, Calls
from mcpist_services.supabase.keys import masked
from mcpist_services.supabase.module import ProjectRef, project_path, supabase

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
def get_function(
    project_ref: ProjectRef,
    function_slug: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$"), "As list_functions shows it, e.g. send-mail"],
) -> Call:
    """Read one Edge Function: its state, version and entry point. Its code is a bundle that cannot be read here."""
    return Call("GET", project_path(project_ref, "/functions/{function_slug}", function_slug=function_slug))


@supabase.reads(shows("id", "name", "public", "created_at as created"), "v1-list-all-buckets")
def list_buckets(project_ref: ProjectRef) -> Call:
    """List a project's storage buckets, and whether anybody may read them."""
    return Call("GET", project_path(project_ref, "/storage/buckets"))
