"""The deployed stack, before it is deployed again."""

from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy.configuration import ConfigurationError

# A first creation that failed: CloudFormation can only delete such a stack, in which nothing is left.
FAILED_CREATION = {"CREATE_FAILED", "ROLLBACK_COMPLETE"}


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
