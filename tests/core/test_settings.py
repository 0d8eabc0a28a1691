from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.template import read_template
from mcpist.memory import forget_all
from mcpist.settings import Settings, settings


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in Settings.__slots__:
        monkeypatch.delenv(name.upper(), raising=False)
    forget_all()
    yield
    forget_all()


def test_a_setting_that_is_not_in_the_environment_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_DAYS", "")
    assert settings() == Settings()


def test_each_type_of_setting_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {
        "ISSUER": "https://issuer.example.com/",
        "KEEP_HOURS": "2",
        "STORE_SECONDS": "2.5",
        "TRACING": "on",
        "CATEGORY_TOOLS": "off",
        "ALLOWED_ORIGINS": "https://a.example.com,,https://b.example.com",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert settings() == Settings(
        issuer="https://issuer.example.com",
        keep_hours=2,
        store_seconds=2.5,
        tracing=True,
        allowed_origins=("https://a.example.com", "https://b.example.com"),
    )
    assert settings().keep_seconds == 7200


@pytest.mark.parametrize(("audience", "expected"), [("", "https://mcp.example.com/mcp"), ("api://mcp", "api://mcp")])
def test_the_audience_is_the_endpoint_unless_it_is_set(
    audience: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBLIC_URL", "https://mcp.example.com/")
    monkeypatch.setenv("AUDIENCE", audience)
    assert settings().audience == expected


def test_every_variable_of_the_template_is_a_setting() -> None:
    template = read_template(Path(__file__).parents[2] / "template.yaml", {"Issuer": "https://issuer.example.com"})
    names = {name for function in template.functions for name in function.environment}
    ours = {name for name in names if not name.startswith(("POWERTOOLS_", "PYDANTIC_")) and name != "REVISION"}
    assert ours <= {name.upper() for name in Settings.__slots__}


def test_a_link_to_connect_an_account_can_name_the_user_that_it_is_for() -> None:
    stack = Settings(public_url="https://mcp.example.com")
    assert stack.connect_url("github") == "https://mcp.example.com/connect/github"
    assert stack.connect_url("a/b", "acme", "uma") == "https://mcp.example.com/connect/a%2Fb?organization=acme&user=uma"
