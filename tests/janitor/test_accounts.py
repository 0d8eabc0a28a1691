"""The janitor lets the broker end accounts, for organizations that have a company's directory."""

from infra.local.login import LocalLogin
from janitor.handler import end_accounts
from mcpist.people import directory, provisioning
from tests import members
from tests.lambda_context import Context
from tests.rest_api.fake_broker import FakeBroker


def test_each_organization_with_a_directory_is_asked_and_what_is_left_is_for_the_next_run(
    organization: str, login: LocalLogin
) -> None:
    assert login
    broker = FakeBroker()
    members.put_organization("globex", name="Globex")
    directory.change(organization, provisioning.change_directory(grant_days=3))
    answers = [{"ended": 16, "left": 1}, {"ended": 0, "left": 1}]
    broker.answers["expire"] = lambda _: answers.pop(0)
    assert end_accounts(Context()) == {"organizations_with_expired_accounts": 1}
    assert [message["organization"] for message in broker.messages] == [organization, organization]
    broker.answers["expire"] = {"ended": 0, "left": 0}
    assert end_accounts(Context()) == {"organizations_with_expired_accounts": 0}
    broker.refusal = {"type": "StoreUnavailable", "details": {"store": "directory"}}
    assert end_accounts(Context()) == {"organizations_with_expired_accounts": 1}
    asked = len(broker.messages)
    assert end_accounts(Context(seconds=0)) == {"organizations_with_expired_accounts": 2}  # none is reached
    assert len(broker.messages) == asked
