"""What `mcpist doctor` says of apps at providers that are stored wrongly."""

import boto3
import pytest

from infra.cli.doctor import people
from tests.infra.cli.doctor.conftest import Made, only

PATH = "/mcpist/mcpist/oauth/github"


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("stored", [{"Type": "String"}, {"Type": "SecureString", "KeyId": "alias/other"}])
def test_an_app_that_is_stored_wrongly_is_stored_again_by_what_its_deployment_has(
    made: Made, stored: dict[str, str]
) -> None:
    boto3.client("ssm").put_parameter(Name=PATH, Value="{}", **stored)
    local, deployed = next(people.apps_stored(made())), next(people.apps_stored(made(embedded=False)))
    assert "`mcpist grant app github app.json`" in local.remedy
    assert "aws " not in local.remedy
    assert f"`aws ssm delete-parameter --name {PATH}`, then `mcpist grant app github app.json" in deployed.remedy
    boto3.client("ssm").put_parameter(
        Name=PATH, Value="{}", Type="SecureString", KeyId="alias/aws/ssm", Overwrite=True
    )  # as the command does
    assert only(people.apps_stored(made())).state == "ok"
