"""Connected accounts: whose token a call is sent with, and that nobody else ever sees it."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from infra.local.demo import ROLE
from infra.local.deployment import LocalDeployment
from tests.accounts import OWN, connect, disconnect, forget
from tests.traffic import traffic_of
from tests.whole.conftest import McpUser, is_quota_request

GET_ME = {"module": "github", "tool": "get_me"}
CANARIES = ("uma-canary-token", "shared-canary-token")


@pytest.fixture
def connected(user: McpUser) -> McpUser:
    """Uma with an account of her own."""
    connect(user.deployment, "github", CANARIES[0])
    forget(user.deployment)
    yield user
    disconnect(user.deployment, "github")


def test_a_call_without_an_account_says_where_to_connect_one(deployment: LocalDeployment, user: McpUser) -> None:
    result = user.call("call", **GET_ME)
    error = json.loads(result.content[0].text)
    assert error["code"] == "CONNECTION_REQUIRED"
    assert f"{deployment.aws.api_url}/connect/github" in error["hint"]


def test_a_call_acts_with_the_users_own_account(connected: McpUser) -> None:
    (text,) = connected.texts("call", **GET_ME)
    assert "uma-at-github" in text


def test_a_step_acts_with_the_users_own_account_by_its_warrant(connected: McpUser) -> None:
    step = {"id": "me", **GET_ME, "output": True}
    _, block = connected.texts("batch", commands=[step])
    assert "uma-at-github" in block


def test_a_roles_shared_account_serves_those_without_their_own(user: McpUser) -> None:
    connect(user.deployment, "github", CANARIES[1], owner=f"role#{ROLE}")
    forget(user.deployment)
    (text,) = user.texts("call", **GET_ME)
    assert "team-at-github" in text
    disconnect(user.deployment, "github", owner=f"role#{ROLE}")


def test_each_of_two_accounts_acts_where_it_is_named_and_a_batch_keeps_to_its_default(connected: McpUser) -> None:
    work = f"{OWN}#work"
    connect(connected.deployment, "github", CANARIES[1], owner=work, account_name="work-at-github")
    forget(connected.deployment)
    (named,) = connected.texts("call", **GET_ME, options={"account": "work"})
    assert "team-at-github" in named  # whose token is the second one
    steps = [{"id": "own", **GET_ME, "output": True}, {"id": "work", **GET_ME, "account": "work", "output": True}]
    _, *blocks = connected.texts("batch", commands=steps)
    assert ["uma-at-github" in blocks[0], "team-at-github" in blocks[-1]] == [True, True]
    unknown = json.loads(connected.call("call", **GET_ME, options={"account": "home"}).content[0].text)
    assert (unknown["code"], "main, work" in unknown["hint"]) == ("VALIDATION_ERROR", True)
    wrong = json.loads(connected.call("batch", commands=[{**GET_ME, "account": "home"}]).content[0].text)
    assert (wrong["details"]["line"], wrong["details"]["account"]) == (1, "home")
    disconnect(connected.deployment, "github", owner=work)


def test_a_token_that_the_service_refuses_asks_to_connect_again(connected: McpUser) -> None:
    connect(connected.deployment, "github", "refused-by-github")
    forget(connected.deployment)
    result = connected.call("call", **GET_ME)
    assert json.loads(result.content[0].text)["code"] == "RECONNECT_REQUIRED"


@pytest.fixture
def labelled(connected: McpUser) -> Iterator[None]:
    """Uma with another account, which is not the default one."""
    work = f"{OWN}#work"
    connect(connected.deployment, "github", CANARIES[1], owner=work, account_name="work-at-github")
    forget(connected.deployment)
    yield
    disconnect(connected.deployment, "github", owner=work)


def test_the_aws_requests_of_a_call_stay_within_the_designs_numbers(connected: McpUser) -> None:
    check_numbers(connected)


@pytest.mark.usefixtures("labelled")
def test_the_aws_requests_of_a_call_are_no_more_beside_a_labelled_account(connected: McpUser) -> None:
    check_numbers(connected)


def check_numbers(user: McpUser) -> None:
    """Count what a cold and a warm call send."""
    traffic, counts = traffic_of(user.deployment.aws), []
    for _ in ("cold", "warm"):
        before = len(traffic.requests)
        user.texts("call", **GET_ME)
        asked = [request for request in traffic.requests[before:] if not is_quota_request(request)]
        counts.append(Counter(request.function for request in asked))
    cold, warm = counts
    assert cold["McpEndpointFunction"] <= 3
    assert cold["TokenBrokerFunction"] <= 3
    assert warm == {"McpEndpointFunction": 1}


def test_no_token_is_in_a_history_a_ledger_an_audit_row_or_a_log(
    deployment: LocalDeployment, connected: McpUser
) -> None:
    connected.texts("batch", commands=[{"id": "me", **GET_ME, "output": True}])
    written = [
        *tables(deployment),
        *histories(deployment),
        *(log.read_text("utf-8") for log in deployment.aws.logs.iterdir()),
    ]
    secrets = (*CANARIES, connected.token)
    assert not [text for text in written for secret in secrets if secret in text]


def tables(deployment: LocalDeployment) -> list[str]:
    """All that is stored, as DynamoDB shows it."""
    dynamodb = deployment.aws.client("dynamodb")
    names = [deployment.aws.resource(table) for table in ("Ledger", "Audit", "Grants", "Directory")]
    return [str(dynamodb.scan(TableName=name)["Items"]) for name in names]


def histories(deployment: LocalDeployment) -> list[str]:
    """All that Step Functions remembers of the executions."""
    states = deployment.aws.client("stepfunctions")
    machines = [machine["stateMachineArn"] for machine in states.list_state_machines()["stateMachines"]]
    executions = [one for arn in machines for one in states.list_executions(stateMachineArn=arn)["executions"]]
    return [str(states.get_execution_history(executionArn=one["executionArn"])["events"]) for one in executions]
