"""Fixtures for the tests of every room: an issuer on loopback, AWS on moto, and one organization with its people."""

import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import boto3
import pytest

from infra.local.login import LocalLogin
from infra.local.names import REGION
from infra.local.template import Template, read_template
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist_services import NAMES
from tests import members, mocked_aws
from tests.clock import Clock
from tests.internet import trust_nobody
from tests.mocked_aws import make_once
from tests.token_broker.authorization_server import AuthorizationServer, running

pytest_plugins = ["tests.running"]

mocked_aws.install()
trust_nobody()
os.environ["LOCAL_SERVICES"] = "on"  # tests' services are on loopback
# A shell's background job ignores Ctrl-C, and so would the commands to which tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

TEMPLATE = Path(__file__).parents[1] / "template.yaml"
PUBLIC_URL = "https://mcp.example.com"
AUDIENCE = f"{PUBLIC_URL}/mcp"
STILL = Clock()


@pytest.fixture(scope="session")
def login() -> Iterator[LocalLogin]:
    """An issuer that mints tokens for any subject."""
    with LocalLogin([], audience=AUDIENCE) as login:
        yield login


@pytest.fixture(scope="session")
def authorization_server() -> Iterator[AuthorizationServer]:
    """A real authorization server of accounts that people connect; tests reset it before they steer it."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def login_client() -> str:
    """The client id of our own login at the issuer; empty where the issuer itself logs clients in."""
    return ""


@pytest.fixture
def aws(login: LocalLogin, login_client: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """moto with the template's tables and bucket, and the environment of all functions; the operations sent to it."""
    template = template_of(login.issuer, login_client)
    for function in template.functions:
        for name, value in function.environment.items():
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    for memory in (directory.access_cache, directory.organization_cache):
        monkeypatch.setattr(memory, "clock", STILL)  # what was read once stays, however slow the machine is
    with mocked_aws.mocked_aws() as sent:
        make_once(f"template {login_client}", lambda: build(template))
        sent.clear()
        yield sent


@pytest.fixture
def organization(aws: list[str], login: LocalLogin) -> str:
    """The organization acme, with the role members, ada its administrator and uma its user; nothing counted yet."""
    make_once(f"organization of {login.issuer}", lambda: put_acme(login))
    aws.clear()
    return "acme"


def put_acme(login: LocalLogin) -> None:
    """Create the organization."""
    members.put_organization("acme", name="Acme")
    members.put_role("acme", Role("members", modules=NAMES))
    members.put_user(
        "acme", "ada", name="Ada", subject=Subject(login.issuer, "ada"), system_role="admin", roles=["members"]
    )
    members.put_user("acme", "uma", name="Uma", subject=Subject(login.issuer, "uma"), roles=["members"])


@cache
def template_of(issuer: str, login_client: str = "") -> Template:
    """The template as a stack behind this issuer has it, where nobody counts users' requests."""
    given = {
        "Issuer": issuer,
        "LoginClientId": login_client,
        "PublicUrl": PUBLIC_URL,
        "Audience": AUDIENCE,
        "UserRequests": "0",
        "UserConcurrency": "0",
    }
    return read_template(TEMPLATE, given)


def build(template: Template) -> None:
    """Make the template's tables and buckets."""
    dynamodb, s3 = boto3.client("dynamodb"), boto3.client("s3")
    for table in template.tables:
        dynamodb.create_table(TableName=table.name, **table.definition)
    for queue in template.queues:
        boto3.client("sqs").create_queue(QueueName=queue.name)
    for bucket in template.buckets:
        s3.create_bucket(Bucket=bucket.name)
