"""What the template tells a function about its surroundings, read once from the environment."""

import os
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from mcpist.memory import cached

KEEP_HOURS = 24
AUDIT_DAYS = 400
MACHINE_LIMIT = 10_000
UPSTREAMS = "/opt/config/upstreams.json"
CONTINUE_SECONDS = 240  # an Express execution ends after 300: one step more, with its retry, still fits


@dataclass(frozen=True, slots=True)
class Settings:
    """Names of the stack's own resources; a function that may not reach one has it empty.

    `audience` is what a token must be issued for: the endpoint's URL, unless the parameter says otherwise. With
    `response_cache` reads that repeat are answered from memory. Batches are kept for `keep_seconds`; after
    `continue_seconds` of an execution a batch goes on in another one. Audit rows are kept for `audit_days`. The
    account may have `machine_limit` machines. People log in on the pages under /connect as `connect_client`. Where
    `login_url` is set, the issuer's own login stands there, and the endpoint describes it.
    `upstreams` is the file of the upstream MCP servers; with `category_tools` the two tools of their categories stand
    beside the three meta-tools. Where `store_seconds` is set, a store that is silent for longer is an error.
    `user_requests` a user may send in a minute, `batch_steps` an organization may run in a day; 0 is no limit. Pages of
    `allowed_origins` may use the endpoint, besides its own. With `tracing` X-Ray hears where the time goes.
    """

    stack: str
    public_url: str
    issuer: str
    audience: str
    directory_table: str
    grants_table: str
    ledger_table: str
    audit_table: str
    files_bucket: str
    vault_key: str
    former_vault_key: str
    store_seconds: float
    oauth_parameters: str
    token_broker: str
    connect_client: str
    login_url: str
    step_runner: str
    machines_role: str
    response_cache: bool
    keep_seconds: int
    audit_days: int
    continue_seconds: float
    machine_limit: int
    upstreams: str
    category_tools: bool
    user_requests: int
    batch_steps: int
    allowed_origins: tuple[str, ...]
    tracing: bool

    def connect_url(self, service: str, organization: str = "", user: str = "") -> str:
        """Where a person connects an account of a service; the page lets only the user that the link names do it."""
        named = {"organization": organization, "user": user} if user else {}
        return f"{self.public_url}/connect/{quote(service, safe='')}" + (f"?{urlencode(named)}" if named else "")


@cached
def settings() -> Settings:
    """The settings of this process."""

    def value(name: str) -> str:
        return os.environ.get(name, "").rstrip("/")

    public_url = value("PUBLIC_URL")
    return Settings(
        stack=value("STACK_NAME"),
        public_url=public_url,
        issuer=value("ISSUER"),
        audience=value("AUDIENCE") or (public_url and f"{public_url}/mcp"),
        directory_table=value("DIRECTORY_TABLE"),
        grants_table=value("GRANTS_TABLE"),
        ledger_table=value("LEDGER_TABLE"),
        audit_table=value("AUDIT_TABLE"),
        files_bucket=value("FILES_BUCKET"),
        vault_key=value("VAULT_KEY"),
        former_vault_key=value("FORMER_VAULT_KEY"),
        store_seconds=float(value("STORE_SECONDS") or 0),
        oauth_parameters=value("OAUTH_PARAMETERS"),
        token_broker=value("TOKEN_BROKER"),
        connect_client=value("CONNECT_CLIENT_ID"),
        login_url=value("LOGIN_URL"),
        step_runner=value("STEP_RUNNER"),
        machines_role=value("MACHINES_ROLE"),
        response_cache=value("RESPONSE_CACHE") == "on",
        keep_seconds=int(value("KEEP_HOURS") or KEEP_HOURS) * 3600,
        audit_days=int(value("AUDIT_DAYS") or AUDIT_DAYS),
        continue_seconds=float(value("CONTINUE_SECONDS") or CONTINUE_SECONDS),
        machine_limit=int(value("MACHINE_LIMIT") or MACHINE_LIMIT),
        upstreams=value("UPSTREAMS") or UPSTREAMS,
        category_tools=value("CATEGORY_TOOLS") == "on",
        user_requests=int(value("USER_REQUESTS") or 0),
        batch_steps=int(value("BATCH_STEPS") or 0),
        allowed_origins=tuple(filter(None, value("ALLOWED_ORIGINS").split(","))),
        tracing=value("TRACING") == "on",
    )
