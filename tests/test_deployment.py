"""The login that the stack brings where no other issuer is named: infra/cognito.yaml, and how template.yaml uses it."""

import re
from pathlib import Path
from typing import Any

import pytest

from infra.local.intrinsics import TemplateError, read_yaml
from infra.local.template import read_template

type Json = dict[str, Any]

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def template() -> Json:
    return read_yaml(ROOT / "template.yaml")


@pytest.fixture(scope="module")
def login() -> Json:
    return read_yaml(ROOT / "infra/cognito.yaml")


def of_type(document: Json, kind: str) -> Json:
    return {id_: one["Properties"] for id_, one in document["Resources"].items() if one["Type"] == kind}


def test_nobody_signs_up_in_the_pool_alone(login: Json) -> None:
    (pool,) = of_type(login, "AWS::Cognito::UserPool").values()
    assert pool["UserPoolTier"] == "ESSENTIALS"
    assert pool["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}
    assert "DeletionProtection" not in pool, "it would keep the pool of a creation that failed"
    (domain,) = of_type(login, "AWS::Cognito::UserPoolDomain").values()
    assert domain["ManagedLoginVersion"] == {"Fn::If": ["IsManaged", 2, 1]}


def test_every_client_is_public_and_takes_only_codes_and_has_a_page(login: Json) -> None:
    clients = of_type(login, "AWS::Cognito::UserPoolClient")
    assert set(clients) == {"LoginClient"}
    for client in clients.values():
        assert client["GenerateSecret"] is False
        assert client["AllowedOAuthFlows"] == ["code"]
        scopes = [scope if isinstance(scope, str) else scope["Fn::Sub"] for scope in client["AllowedOAuthScopes"]]
        assert set(scopes) <= {"openid", "email", "profile"}, "not the scope that changes the user's own account"
        assert client["RefreshTokenRotation"]["Feature"] == "ENABLED"
        # USER_AUTH takes a password by Cognito's API, and without any flow SRP would be allowed.
        assert client["ExplicitAuthFlows"] == ["ALLOW_CUSTOM_AUTH"]
        assert client["PreventUserExistenceErrors"] == "ENABLED"
    branding = [one for one in login["Resources"].values() if one["Type"] == "AWS::Cognito::ManagedLoginBranding"]
    # With the parameter LoginPages=classic there is none: not every region and engine has it.
    assert {one["Condition"] for one in branding} == {"IsManaged"}
    assert login["Conditions"]["IsManaged"] == {"Fn::Equals": [{"Ref": "LoginPages"}, "managed"]}
    styles = of_type(login, "AWS::Cognito::ManagedLoginBranding").values()
    assert sorted(style["ClientId"]["Ref"] for style in styles) == sorted(clients)


def test_the_pool_answers_our_own_login_alone(login: Json) -> None:
    (client,) = of_type(login, "AWS::Cognito::UserPoolClient").values()
    assert client["CallbackURLs"] == [{"Fn::Sub": "${PublicUrl}/login/callback"}]


def test_the_issuer_is_named_as_the_pools_tokens_name_it(login: Json) -> None:
    """Cognito's tokens have `https://cognito-idp.REGION.amazonaws.com/POOL` as `iss`; ProviderName lacks the scheme."""
    assert login["Outputs"]["Issuer"]["Value"] == {"Fn::Sub": "https://${Users.ProviderName}"}


def test_the_pool_comes_with_the_first_deployment_unless_there_is_an_issuer_or_it_is_switched_off(
    template: Json, login: Json
) -> None:
    stack = template["Resources"]["Login"]
    assert (stack["Type"], stack["Condition"]) == ("AWS::CloudFormation::Stack", "HasUserPool")
    assert (ROOT / stack["Properties"]["TemplateURL"]).samefile(ROOT / "infra/cognito.yaml")
    assert set(stack["Properties"]["Parameters"]) == set(login["Parameters"])
    assert stack["Properties"]["Parameters"]["PublicUrl"] == public_url(template)
    assert [
        read_template(ROOT / "template.yaml", given).intrinsics.holds("HasUserPool")
        for given in ({"OwnLogin": "off"}, {"Issuer": "https://login.example.com"})
    ] == [False, False]
    with pytest.raises(TemplateError, match=r"Login\.Outputs"):
        read_template(ROOT / "template.yaml", {})


def public_url(template: Json) -> Any:
    return template["Globals"]["Function"]["Environment"]["Variables"]["PUBLIC_URL"]


def test_what_the_pool_tells_reaches_the_doors_and_only_if_it_is_there(template: Json, login: Json) -> None:
    told = {
        "ISSUER": ("Issuer", {"Ref": "Issuer"}),
        "LOGIN_CLIENT_ID": ("LoginClientId", {"Ref": "LoginClientId"}),
    }
    functions = [*of_type(template, "AWS::Serverless::Function").values(), template["Globals"]["Function"]]
    variables = {name: v for f in functions for name, v in f.get("Environment", {}).get("Variables", {}).items()}
    for name, (output, otherwise) in told.items():
        assert output in login["Outputs"]
        assert variables[name] == {"Fn::If": ["HasUserPool", {"Fn::GetAtt": ["Login", f"Outputs.{output}"]}, otherwise]}


def test_the_page_on_deploying_tells_each_parameter_with_its_default(template: Json) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", (ROOT / "docs/deploy.md").read_text("utf-8"), re.MULTILINE)
    told = {name: default.strip("`") for name, default in rows if name in template["Parameters"]}
    assert list(told) == list(template["Parameters"])
    for name, parameter in template["Parameters"].items():
        assert told[name] == (str(parameter["Default"]) or "empty"), name
