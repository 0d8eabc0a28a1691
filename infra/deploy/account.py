"""The concurrency of the account, and the parameters that suit it where the owner has chosen none."""

from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

# AWS does not let them be reserved.
MIN_UNRESERVED_CONCURRENCY = 100
MIN_USER_CONCURRENCY, MIN_ORGANIZATION_CONCURRENCY = 5, 8  # the template's defaults, for the ten of a new account
MAX_USER_CONCURRENCY, MAX_BROKER_CONCURRENCY = 20, 50
ORGANIZATION_SHARE, BROKER_SHARE, USER_SHARE = 4, 20, 50  # a fourth of the account, and so on


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
