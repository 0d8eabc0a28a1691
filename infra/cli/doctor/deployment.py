"""The deployment that is checked (of the last `mcpist up`, or a stack in an account), and the findings of checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal, NoReturn

from infra.cli.document import CommandError
from infra.cli.options import Target
from infra.cli.stacks import last_up
from infra.cli.target import describe_stack, outputs_of
from infra.cli.upstream import DEPLOYED_FILE
from infra.local.template import Template, read_template
from infra.source import TEMPLATE
from mcpist.aws.clients import client

type State = Literal["ok", "warning", "problem", "skipped"]


class RequiredNames(dict[str, str]):
    """Names of a stack; a missing one raises CommandError."""

    def __missing__(self, name: str) -> NoReturn:
        message, hint = f"the stack has no {name}", "Use the release that is deployed, or deploy this one."
        raise CommandError("VALIDATION_ERROR", message, hint)


@dataclass(frozen=True, slots=True)
class Deployment:
    """The facts about a deployment that all checks use."""

    name: str
    """The stack's name."""
    status: str
    """CloudFormation's status of the stack."""
    embedded: bool
    """Whether it is the embedded AWS."""
    url: str
    """The public URL, without a slash at the end."""
    parameters: RequiredNames
    """The stack's parameters by name."""
    resources: RequiredNames
    """Physical ids by the template's ids."""
    environment: Callable[[str], Mapping[str, str]]
    """Returns a function's environment variables by the template's id."""
    upstreams: Path
    """The file of the upstream servers on this machine."""
    token: str = ""
    """An administrator's access token, or empty."""
    organization: str = ""
    """The organization of the token."""
    flags: str = ""
    """The options --profile and --region for commands that are shown."""

    @property
    def resource(self) -> str:
        """The resource for which access tokens must be issued."""
        return self.parameters["Audience"].rstrip("/") or f"{self.url}/mcp"

    @property
    def issuer(self) -> str:
        """The issuer that says who people are: by default the stack's own user pool."""
        return (self.parameters["Issuer"] or self.environment("McpEndpointFunction").get("ISSUER", "")).rstrip("/")

    @property
    def has_login(self) -> bool:
        """Whether clients log in at the stack itself."""
        return bool(self.environment("McpEndpointFunction").get("LOGIN_KEYS"))

    @property
    def login_issuer(self) -> str:
        """The issuer at which clients log in."""
        return self.url if self.has_login else self.issuer

    @property
    def connect_client(self) -> str:
        """The client with which the console logs people in."""
        return self.environment("ConsoleFunction").get("CONNECT_CLIENT_ID", "") or self.parameters["ConnectClientId"]

    @property
    def issuer_client(self) -> tuple[str, str]:
        """Our client at the issuer, and where it gets answers: that of the stack's own login, or the console's."""
        if self.has_login:
            return self.environment("LoginFunction")["LOGIN_CLIENT_ID"], f"{self.url}/login/callback"
        return self.connect_client, f"{self.url}/connect/login"

    def aws(self, command: str) -> str:
        """Return a command of AWS's command line for this account and region."""
        return f"`aws {command}{self.flags}`"

    def redeploy(self, **parameters: str) -> str:
        """Return how to change parameters of this deployment."""
        given = " ".join(f"{name}={value}" for name, value in parameters.items())
        options = f"--stack-name {self.name}{self.flags} {given}"
        return f'Deploy with it: `make deploy ARGS="{options}"`; the other parameters keep their values.'

    def mcpist(self, command: str) -> str:
        """Return a command of `mcpist` for this deployment."""
        return f"`mcpist {command}{'' if self.embedded else f' --stack {self.name}'}{self.flags}`"


@cache
def template() -> Template:
    """Read this release's template; names in it are those of the embedded AWS."""
    return read_template(TEMPLATE, {"OwnLogin": "off"})


def read_deployment(target: Target, token: str | None, organization: str | None) -> Deployment:
    """Read the facts about a target's stack, while core is pointed at it."""
    if not target.deployed:
        return _embedded()
    name = target.stack or "mcpist"
    found, resources = describe_stack(name)
    outputs = outputs_of(found)
    physical = RequiredNames(resources)
    flags = {"--profile": target.profile, "--region": target.region}

    @cache
    def environment(function: str) -> Mapping[str, str]:
        asked = client("lambda").get_function_configuration(FunctionName=physical[function], Qualifier="live")
        variables: dict[str, str] = asked["Environment"]["Variables"]
        return variables

    return Deployment(
        name,
        found["StackStatus"],
        embedded=False,
        url=outputs.get("McpUrl", "").removesuffix("/mcp").rstrip("/"),
        parameters=RequiredNames((one["ParameterKey"], one["ParameterValue"]) for one in found.get("Parameters", ())),
        resources=physical,
        environment=environment,
        upstreams=DEPLOYED_FILE,
        token=token or "",
        organization=organization or "",
        flags="".join(f" {flag} {value}" for flag, value in flags.items() if value),
    )


def _embedded() -> Deployment:
    last = last_up("name a stack in AWS with --stack")
    facts = last["deployment"]
    return Deployment(
        facts["name"],
        "",
        embedded=True,
        url=last["api_url"],
        parameters=RequiredNames(facts["parameters"]),
        resources=RequiredNames(facts["resources"]),
        environment=lambda function: facts["environments"].get(function, {}),
        upstreams=Path(last["read_upstreams"]),
        token=last["administrator_token"],
        organization=last["organization"],
    )


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One line; a `problem` prevents work or endangers secrets, a `warning` may do so soon.

    A check that could not be made is `skipped`.
    """

    state: State
    found: str
    remedy: str = ""
    area: str = ""
    about: str = ""
    """The place of its check among all."""


# Each says what was found; a warning and a problem also how to correct it.
ok = partial(CheckFinding, "ok")
warning = partial(CheckFinding, "warning")
problem = partial(CheckFinding, "problem")
skipped = partial(CheckFinding, "skipped")
