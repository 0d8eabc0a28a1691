"""The owner's settings, the stack before it is deployed again, and the parameters that suit the account."""

import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.local.template import text_of

# A first creation that failed: CloudFormation can only delete such a stack, in which nothing is left.
FAILED_CREATION = {"CREATE_FAILED", "ROLLBACK_COMPLETE"}
# AWS does not let them be reserved.
MIN_UNRESERVED_CONCURRENCY = 100
MIN_USER_CONCURRENCY, MIN_ORGANIZATION_CONCURRENCY = 5, 8  # the template's defaults, for the ten of a new account
MAX_USER_CONCURRENCY, MAX_BROKER_CONCURRENCY = 20, 50
ORGANIZATION_SHARE, BROKER_SHARE, USER_SHARE = 4, 20, 50  # a fourth of the account, and so on


class DeployedStack:
    """A stack of an account, or the lack of one."""

    def __init__(self, name: str, *, region: str | None = None, profile: str | None = None) -> None:
        self.name = name
        try:
            self._client: Any = boto3.Session(region_name=region, profile_name=profile).client("cloudformation")
            self._description = self._describe()
        except BotoCoreError as error:
            raise ConfigurationError(f"AWS cannot be asked for the stack {name}: {error}") from None

    @property
    def parameters(self) -> dict[str, str]:
        """The values with which it was deployed last."""
        return {one["ParameterKey"]: one["ParameterValue"] for one in self._description.get("Parameters", ())}

    @property
    def failed_creation(self) -> bool:
        """Whether it is the rest of a first creation that failed."""
        return self._description.get("StackStatus") in FAILED_CREATION

    def delete(self) -> None:
        """Delete the stack and wait for the end."""
        try:
            self._client.delete_stack(StackName=self.name)
            waiter = self._client.get_waiter("stack_delete_complete")
            waiter.wait(StackName=self.name, WaiterConfig={"Delay": 5, "MaxAttempts": 360})
        except (BotoCoreError, ClientError) as error:
            raise ConfigurationError(f"the rest of the stack {self.name} cannot be deleted: {error}") from None
        self._description = {}

    def _describe(self) -> dict[str, Any]:
        """Return the description; empty where there is no stack."""
        try:
            (found,) = self._client.describe_stacks(StackName=self.name)["Stacks"]
        except ClientError as error:
            if "does not exist" in str(error):
                return {}
            raise ConfigurationError(f"AWS refused to describe the stack {self.name}: {error}") from None
        return {} if found["StackStatus"] == "REVIEW_IN_PROGRESS" else dict(found)


class ConfigurationError(Exception):
    """A setting cannot be read or used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The deploy settings of samconfig.toml."""

    stack_name: str = "mcpist"
    region: str | None = None
    profile: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The template's parameters that the file sets."""


def read_configuration(path: Path) -> Configuration:
    """Read the file; one that does not exist sets nothing."""
    if not path.exists():
        return Configuration()
    try:
        environment = tomllib.loads(path.read_text(encoding="utf-8")).get("default", {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None
    found = environment.get("global", {}).get("parameters", {}) | environment.get("deploy", {}).get("parameters", {})
    overrides = _overrides(path, found.get("parameter_overrides", []))
    return Configuration(found.get("stack_name", "mcpist"), found.get("region"), found.get("profile"), overrides)


def assignments(words: Iterable[str]) -> dict[str, str]:
    """Return the parameters that words such as `RequestRate=50` set."""
    split = {word: word.partition("=") for word in words}
    if wrong := [word for word, (name, equals, _) in split.items() if not (name.isalnum() and equals)]:
        raise ConfigurationError(f"{wrong[0]!r} is not NAME=VALUE")
    return {name: value for name, _, value in split.values()}


def _overrides(path: Path, written: Any) -> dict[str, str]:
    """Return `parameter_overrides`: a text or a list of `NAME=VALUE`, or a table."""
    match written:
        case dict():
            return {name: text_of(value) for name, value in written.items()}
        case str():
            return assignments(shlex.split(written))
        case list() if all(isinstance(one, str) for one in written):
            return assignments(word for one in written for word in shlex.split(one))
    raise ConfigurationError(f"{path}: parameter_overrides must be a table, or NAME=VALUE in a text or a list")


@dataclass(frozen=True, slots=True)
class Concurrency:
    """The executions that an account may run at once."""

    limit: int
    unreserved: int
    """Those that no function has reserved."""

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that suit this account; nothing is reserved where AWS would refuse it."""
        broker = min(self.limit // BROKER_SHARE, MAX_BROKER_CONCURRENCY)
        if self.unreserved - broker < MIN_UNRESERVED_CONCURRENCY:
            broker = 0
        user = min(max(self.limit // USER_SHARE, MIN_USER_CONCURRENCY), MAX_USER_CONCURRENCY)
        organization = max(self.limit // ORGANIZATION_SHARE, MIN_ORGANIZATION_CONCURRENCY)
        numbers = {"BrokerConcurrency": broker, "UserConcurrency": user, "OrganizationConcurrency": organization}
        return {name: str(number) for name, number in numbers.items()}


def read_concurrency(region: str | None = None, profile: str | None = None) -> Concurrency | None:
    """Return the account's concurrency; None where AWS does not say it to this caller."""
    try:
        client: Any = boto3.Session(region_name=region, profile_name=profile).client("lambda")
        found = client.get_account_settings()["AccountLimit"]
    except (BotoCoreError, ClientError, NotImplementedError):
        return None
    return Concurrency(found["ConcurrentExecutions"], found["UnreservedConcurrentExecutions"])
