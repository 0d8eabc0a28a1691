"""What the template tells a function about its surroundings, read once from the environment."""

import os
from dataclasses import dataclass
from functools import cache

KEEP_HOURS = 24
MACHINE_LIMIT = 10_000
UPSTREAMS = "/opt/config/upstreams.json"
CONTINUE_SECONDS = 240  # an Express execution ends after 300: one step more, with its retry, still fits


@dataclass(frozen=True, slots=True)
class Settings:
    """Names of the stack's own resources; a function that may not reach one has it empty.

    `audience` is what a token must be issued for: the endpoint's URL, unless the parameter says otherwise. With
    `response_cache` reads that repeat are answered from memory. Batches are kept for `keep_seconds`; after
    `continue_seconds` of an execution a batch goes on in another one. The account may have `machine_limit` machines.
    `upstreams` is the file of the upstream MCP servers; with `category_tools` the two tools of their categories stand
    beside the three meta-tools.
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
    token_broker: str
    step_runner: str
    machines_role: str
    response_cache: bool
    keep_seconds: int
    continue_seconds: float
    machine_limit: int
    upstreams: str
    category_tools: bool

    def connect_url(self, service: str) -> str:
        """Where a person connects an account of a service."""
        return f"{self.public_url}/connect/{service}"


@cache
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
        token_broker=value("TOKEN_BROKER"),
        step_runner=value("STEP_RUNNER"),
        machines_role=value("MACHINES_ROLE"),
        response_cache=value("RESPONSE_CACHE") == "on",
        keep_seconds=int(value("KEEP_HOURS") or KEEP_HOURS) * 3600,
        continue_seconds=float(value("CONTINUE_SECONDS") or CONTINUE_SECONDS),
        machine_limit=int(value("MACHINE_LIMIT") or MACHINE_LIMIT),
        upstreams=value("UPSTREAMS") or UPSTREAMS,
        category_tools=value("CATEGORY_TOOLS") == "on",
    )
