"""`mcpist smoke` beside the running deployment: all is ok, and each thing that stops a client, with its remedy."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.cli import login_store
from infra.cli.document import ADMINISTRATOR
from infra.cli.login_store import KeptLogin
from infra.cli.main import run
from infra.cli.stacks import LocalStack
from infra.cli.up_facts import recorded
from infra.local.demo import USER
from infra.local.deployment import LocalDeployment
from infra.local.login import LocalLogin
from mcpist.caller import Role, Subject
from tests import members

type Line = dict[str, str]
type Smoke = Callable[..., tuple[int, dict[str, list[Line]]]]


@pytest.fixture
def smoke(
    deployment: LocalDeployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Smoke]:
    """The exit code, and the findings by what they are about."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def smoked(*arguments: str) -> tuple[int, dict[str, list[Line]]]:
        code = run(["smoke", *arguments])
        text = capsys.readouterr().out
        assert not any(argument in text for argument in arguments if argument.startswith("ey"))
        document = json.loads(text)
        facts = document["metadata"] if code == 0 else document["error"]["details"]
        found: dict[str, list[Line]] = {}
        for line in facts["findings"]:
            found.setdefault(f"{line['area']} {line['about']}", []).append(line)
        return code, found

    with recorded(deployment, LocalStack().facts_file):
        yield smoked


def test_the_last_up_is_used_once_and_works(smoke: Smoke, deployment: LocalDeployment) -> None:
    code, found = smoke()
    assert code == 0
    states = {about: {line["state"] for line in lines} for about, lines in found.items()}
    assert {state for about, some in states.items() if not about.startswith("account") for state in some} == {"ok"}
    assert [states[f"account {about}"] for about in ("live", "logs", "metrics")] == [{"skipped"}] * 3
    assert "done, 2 of 2 steps" in found["use batch"][0]["found"]
    assert f"aud {deployment.mcp_url}, scope mcp" in found["use token"][0]["found"]
    assert "-www-authenticate: Bearer resource_metadata=" in found["login challenge"][0]["found"]


def test_without_a_token_what_is_public_is_checked(smoke: Smoke, deployment: LocalDeployment) -> None:
    code, found = smoke(deployment.mcp_url)
    assert code == 0
    assert {line["state"] for about in ("token", "tools", "call", "batch") for line in found[f"use {about}"]} == {
        "skipped"
    }
    assert [line["state"] for line in found["login resource metadata"]] == ["ok", "ok"]


def test_the_login_at_the_address_is_used(smoke: Smoke, deployment: LocalDeployment) -> None:
    url, token = deployment.aws.api_url, deployment.token(USER)
    login_store.save(KeptLogin(url, deployment.mcp_url, "local", f"{url}/token", "", token, "", expires_at=None))
    code, found = smoke(deployment.mcp_url)
    assert code == 0
    assert [line["state"] for line in found["use call"]] == ["ok"]


@pytest.mark.parametrize(
    ("claims", "problem"),
    [
        ({"audience": "https://elsewhere.example/mcp"}, "not issued for"),
        ({"exp": 1_700_000_000}, "it ended at 2023-11-14 22:13 UTC"),
    ],
)
def test_a_token_that_is_refused_is_explained(
    smoke: Smoke, deployment: LocalDeployment, claims: dict[str, object], problem: str
) -> None:
    code, found = smoke(deployment.mcp_url, "--token", deployment.token(USER, **claims))
    (line,) = found["use token"]
    assert (code, line["state"]) == (ADMINISTRATOR, "problem")
    assert problem in line["found"]
    assert {one["state"] for about in ("tools", "call", "batch") for one in found[f"use {about}"]} == {"problem"}


def test_a_text_that_is_no_token_is_not_repeated(smoke: Smoke, deployment: LocalDeployment) -> None:
    code, found = smoke(deployment.mcp_url, "--token", "eyno-token-at-all")
    assert (code, found["use token"][0]["found"]) == (ADMINISTRATOR, "the token is no JWT")


@pytest.mark.usefixtures("guests")
def test_a_role_without_the_module_is_named_with_the_command_that_adds_it(
    smoke: Smoke, deployment: LocalDeployment
) -> None:
    members.put_organization("smokers", name="Smokers")
    members.put_role("smokers", Role("readers", modules=("github",)))
    subject = Subject(deployment.login.issuer, "sam")
    members.put_user("smokers", "sam", name="Sam", subject=subject, system_role="user", roles=["readers"])
    code, found = smoke(deployment.mcp_url, "--token", deployment.login.mint("sam"))
    assert code == ADMINISTRATOR
    for about in ("call", "batch"):
        assert "mcpist role set ROLE --modules rag" in found[f"use {about}"][0]["remedy"]


def test_an_address_where_nothing_answers_is_a_problem(smoke: Smoke) -> None:
    code, found = smoke("http://127.0.0.1:9/mcp")
    assert code == ADMINISTRATOR
    for about in ("resource metadata", "challenge"):
        (line,) = found[f"login {about}"]
        assert (line["state"], line["remedy"][:9]) == ("problem", "Check the")


def test_another_server_at_the_address_is_a_problem(smoke: Smoke, deployment: LocalDeployment) -> None:
    with LocalLogin([], audience=deployment.mcp_url) as other:
        code, found = smoke(f"{other.issuer}/mcp")
    assert (code, found["login challenge"][0]["found"]) == (
        ADMINISTRATOR,
        f"POST {other.issuer}/mcp without a token returns 404, not 401",
    )
    assert [line["state"] for line in found["login resource metadata"]] == ["problem", "problem"]
