"""The settings of a function, which the template passes in its environment."""

import os
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import quote, urlencode

from mcpist.memory import cached


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that are read from environment variables of their names; a function is given those that it needs."""

    stack_name: str = ""
    """The stack's name, which begins the names of the machines that it generates."""
    public_url: str = ""
    """The origin at which clients reach the endpoint and people the pages under /connect."""
    issuer: str = ""
    """The URL of the OIDC issuer that says who people are; its access tokens are accepted, too."""
    audience: str = ""
    """The audience of an accepted token: the endpoint's URL unless it is set."""
    login_keys: tuple[str, ...] = ()
    """The ARNs of the KMS keys of our own login, of which the first signs; empty where another issuer has them."""
    logins_table: str = ""
    """The name of the table of our own login: its clients, and who lets which of them act."""
    issuers_by_domain: str = ""
    """The issuers of people whose addresses have some domains, as JSON: see `issuers`."""
    login_client_id: str = ""
    """The client id of our own login at the issuer that says who a person is."""
    login_secret: str = ""
    """The name of the SSM parameter of that client's secret; the client is public where there is none."""
    login_secrets: str = ""
    """The path of the SSM parameters with our secrets at the issuers of domains, by those."""
    directory_table: str = ""
    """The name of the table of organizations, users and roles."""
    grants_table: str = ""
    """The name of the table of connected accounts."""
    ledger_table: str = ""
    """The name of the table of batches."""
    events_table: str = ""
    """The name of the table of events and subscriptions."""
    event_queue: str = ""
    """The URL of the queue of stored events."""
    audit_table: str = ""
    """The name of the audit table."""
    seals_table: str = ""
    """The name of the table of the audit's seals and of the uses of each week, which only the janitor writes."""
    audit_required: bool = False
    """Whether a call or a step is answered only if its audit row is stored."""
    audit_export: str = ""
    """The name of the owner's bucket that new audit rows are delivered to; the janitor alone is given it."""
    files_bucket: str = ""
    """The name of the bucket of large results and of the organizations' documents."""
    vault_key: str = ""
    """The ARN of the KMS key that seals stored tokens."""
    former_vault_key: str = ""
    """The ARN of the key that was `vault_key` before, if there is one: it still opens what it sealed."""
    store_seconds: float = 0
    """The seconds after which an AWS service that does not respond is an error; 0 for the usual timeouts."""
    oauth_parameters: str = ""
    """The path of the SSM parameters that hold our OAuth apps."""
    token_broker: str = ""
    """The ARN of the token broker's alias."""
    rest_api: str = ""
    """The function with the REST API, which ends approvals for the janitor."""
    program_runner: str = ""
    """The ARN of the program runner's alias."""
    programs: str = "/opt/config/programs"
    """The path of the folder of the packaged programs."""
    allowed_programs: tuple[str, ...] = ()
    """The absolute paths of programs that may run without being packaged; only the embedded AWS sets it."""
    servers_folder: str = ""
    """The working directory of stdio servers, else their HOME; only the embedded AWS sets it."""
    administrator: str = ""
    """The e-mail address of who administers the first organization; the console alone is given it."""
    connect_client_id: str = ""
    """The client id of the pages under /connect at the identity provider."""
    step_runner: str = ""
    """The ARN of the step runner's alias."""
    machines_role: str = ""
    """The ARN of the role of generated machines."""
    response_cache: bool = False
    """Whether responses to reads are cached in the sandbox's memory."""
    keep_hours: int = 24
    """The hours for which a batch is kept."""
    file_days: int = 7
    """The days for which a file is kept."""
    audit_days: int = 400
    """The days for which an audit row is kept."""
    continue_seconds: float = 240
    """The seconds after which a batch continues in another execution: an Express execution ends after 300, and one
    more step with its retry must fit."""
    machine_limit: int = 10_000
    """The number of state machines that the account may have."""
    upstreams: str = "/opt/config/upstreams.json"
    """The path of the file that configures upstream MCP servers."""
    apis: str = "/opt/config/apis/compiled"
    """The path of the folder of the imported APIs, as the build writes it."""
    category_tools: bool = False
    """Whether the endpoint also lists the two tools for categories of upstream servers."""
    user_requests: int = 0
    """The requests that a user may send in a minute; 0 is no limit."""
    user_concurrency: int = 0
    """The requests that a user may have in flight at once; 0 is no limit, for the organization neither."""
    organization_concurrency: int = 0
    """The requests that an organization's users together may have in flight at once; 0 is no limit."""
    batch_steps: int = 0
    """The steps of batches that an organization may run in a day; 0 is no limit, here and for the next three."""
    day_calls: int = 0
    """The calls of tools that an organization may make in a day, besides the steps of batches."""
    day_program_seconds: int = 0
    """The seconds for which an organization's programs and stdio servers may run in a day."""
    day_megabytes: int = 0
    """The megabytes that an organization may have sent to its clients and to services, or stored as files, in a day."""
    allowed_origins: tuple[str, ...] = ()
    """The origins, besides its own, whose pages may call the endpoint; separated by commas."""
    database_networks: tuple[str, ...] = ()
    """The owner's own networks in which databases may be, e.g. 10.0.0.0/16; separated by commas."""
    tracing: bool = False
    """Whether X-Ray traces are recorded."""
    local_services: bool = False
    """Whether requests may go to services on this machine's loopback; only the embedded AWS sets it."""

    @property
    def login_issuer(self) -> str:
        """The issuer at which clients and people log in: our own login, or the one that also says who people are."""
        return self.public_url if self.login_keys else self.issuer

    @property
    def keep_seconds(self) -> int:
        """The seconds for which a batch is kept."""
        return self.keep_hours * 3600

    def connect_url(self, service: str, organization: str = "", user: str = "", account: str = "") -> str:
        """Return the URL of the page that connects an account of a service; if a user is given, for this user only."""
        query = {"organization": organization, "user": user} if user else {}
        query |= {"account": account} if account else {}
        return f"{self.public_url}/connect/{quote(service, safe='')}" + (f"?{urlencode(query)}" if query else "")


@cached
def settings() -> Settings:
    """Return the settings of this process."""
    texts = {field: os.environ.get(field.name.upper(), "").rstrip("/") for field in fields(Settings)}
    found = Settings(**{field.name: _parse(field.type, text) for field, text in texts.items() if text})
    default_audience = f"{found.public_url}/mcp" if found.public_url else ""
    return replace(found, audience=found.audience or default_audience)


def _parse(kind: Any, text: str) -> Any:
    """Return the value of a setting; a bool is written "on" or "off"."""
    if kind is bool:
        return text == "on"
    return kind(text) if kind in {str, int, float} else tuple(filter(None, text.split(",")))
