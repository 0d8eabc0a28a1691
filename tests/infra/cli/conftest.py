"""Fixtures of the commands: the organization acme with a running `up`, a deployed stack, or no deployment."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.cli.document import exit_code
from infra.cli.main import run
from infra.cli.stacks import chosen_stack
from infra.local.environment import STORES, TABLES
from infra.local.login import LocalLogin
from infra.local.names import REGION
from mcpist.batch.machine.definition import stack_prefix
from mcpist.settings import settings
from tests.infra.cli.printed import printed
from tests.infra.cli.rest_door import serving_rest
from tests.rest_api.fake_broker import FakeBroker

type Mcpist = Callable[..., dict[str, Any]]

TABLE = {
    "Type": "AWS::DynamoDB::Table",
    "Properties": {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    },
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's own configuration folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a running `mcpist up`."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def deployed(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> str:  # noqa: ARG001 - the account
    """The name of a deployed stack with tables; other environment variables name no resource."""
    cloudformation = boto3.client("cloudformation")
    body = json.dumps({"Resources": dict.fromkeys(("Ledger", "Directory", "Grants", "Audit"), TABLE)})
    made = cloudformation.create_stack(StackName="acme-mcpist", TemplateBody=body)
    asked = {"StackName": "acme-mcpist", "LogicalResourceId": "Ledger"}
    ledger = cloudformation.describe_stack_resource(**asked)["StackResourceDetail"]["PhysicalResourceId"]
    monkeypatch.setenv("LEDGER_TABLE", ledger)
    return stack_prefix(made["StackId"])


@pytest.fixture
def broker(aws: list[str]) -> FakeBroker:  # noqa: ARG001 - AWS is mocked first
    """The token broker behind the REST API."""
    return FakeBroker()


@pytest.fixture
def rest(broker: FakeBroker) -> Iterator[str]:  # noqa: ARG001 - the door asks it
    """The address of a REST API."""
    with serving_rest() as url:
        yield url


@pytest.fixture
def mcpist(
    organization: str,
    login: LocalLogin,
    rest: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Mcpist:
    """A function that runs a command with a running `up` and returns its metadata, or with `fails` its error."""
    monkeypatch.chdir(tmp_path)
    own = {variable: getattr(settings(), variable.lower()) for variable in TABLES | STORES}
    last = {"aws": {"AWS_DEFAULT_REGION": REGION}, "stack": own, "organization": organization, "issuer": login.issuer}
    last |= {"access_token": login.mint("uma"), "administrator_token": login.mint("ada"), "api_url": rest}
    chosen_stack().facts_file.parent.mkdir()
    chosen_stack().facts_file.write_text(json.dumps(last))

    def command(*arguments: str, fails: bool = False) -> dict[str, Any]:
        code = run(list(arguments))
        line = capsys.readouterr().out.splitlines()[-1]  # after the log lines of the door
        document = printed(line)
        assert document["success"] is not fails, document
        assert code == (exit_code(document["error"]["code"]) if fails else 0)
        return document["error" if fails else "metadata"]  # type: ignore[no-any-return]

    return command
