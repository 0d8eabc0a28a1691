"""The real template.yaml, read as the embedded AWS reads it."""

from pathlib import Path

import pytest

from infra.local.intrinsics import TemplateError, read_yaml
from infra.local.template import Route, Template, read_template

ROOT = Path(__file__).parents[3]
ISSUER = {"Issuer": "http://127.0.0.1:3001"}


@pytest.fixture(scope="module")
def template() -> Template:
    return read_template(ROOT / "template.yaml", ISSUER)


def test_functions_carry_globals_and_their_own_properties(template: Template) -> None:
    step_runner = next(function for function in template.functions if function.id == "StepRunnerFunction")
    assert step_runner.name == "mcpist-StepRunnerFunction"
    assert step_runner.handler == "step_runner.handler.handler"
    assert step_runner.timeout_seconds == 60
    assert step_runner.memory_mb == 1024
    assert step_runner.log_level == "INFO"
    assert step_runner.alias == "live"
    assert step_runner.code == ROOT / "functions"
    assert ROOT / "layers/core" in step_runner.layers


def test_environments_hold_local_names_and_arns(template: Template) -> None:
    environment = next(one for one in template.functions if one.id == "McpEndpointFunction").environment
    assert environment["ISSUER"] == "http://127.0.0.1:3001"
    assert environment["LEDGER_TABLE"] == "mcpist-Ledger"
    assert environment["FILES_BUCKET"] == "mcpist-filesbucket"
    assert environment["MACHINES_ROLE"] == "arn:aws:iam::123456789012:role/mcpist-MachinesRole"
    broker = "arn:aws:lambda:us-east-1:123456789012:function:mcpist-TokenBrokerFunction:live"
    assert environment["TOKEN_BROKER"] == broker


def test_the_response_cache_is_off_until_the_owner_switches_it_on(template: Template) -> None:
    on = read_template(ROOT / "template.yaml", {"ResponseCache": "on", **ISSUER})
    for id_ in ("McpEndpointFunction", "StepRunnerFunction"):
        values = [
            next(one for one in made.functions if one.id == id_).environment["RESPONSE_CACHE"]
            for made in (template, on)
        ]
        assert values == ["off", "on"]


def test_each_function_that_runs_tools_or_sends_events_knows_whether_rows_are_demanded() -> None:
    on = read_template(ROOT / "template.yaml", {"AuditRequired": "on", **ISSUER})
    told = {one.id for one in on.functions if one.environment.get("AUDIT_REQUIRED") == "on"}
    assert told == {one.id for one in on.functions if "RESPONSE_CACHE" in one.environment} | {"EventsFunction"}


def test_the_vault_key_has_the_same_arn_in_every_run(template: Template) -> None:
    environment = next(one for one in template.functions if one.id == "TokenBrokerFunction").environment
    key = next(key for key in template.keys if key.id == "VaultKey")
    assert environment["VAULT_KEY"] == f"arn:aws:kms:us-east-1:123456789012:key/{key.key_id}"
    again = read_template(ROOT / "template.yaml", ISSUER)
    assert again.keys == template.keys


def test_a_route_leads_by_its_integration_to_a_function(template: Template) -> None:
    assert Route("ANY", "/mcp/{organization}", "McpEndpointFunction") in template.routes
    assert {route.key for route in template.routes} >= {"ANY /mcp", "ANY /.well-known/oauth-protected-resource"}


def test_tables_keep_their_keys_and_indexes(template: Template) -> None:
    audit = next(table for table in template.tables if table.id == "Audit")
    assert [key["AttributeName"] for key in audit.definition["KeySchema"]] == ["pk", "sk"]
    indexes = [index["IndexName"] for index in audit.definition["GlobalSecondaryIndexes"]]
    assert indexes == ["by_user", "by_service", "by_failure"]
    assert all(table.definition["BillingMode"] == "PAY_PER_REQUEST" for table in template.tables)


def test_machines_call_the_alias(template: Template) -> None:
    relay = next(machine for machine in template.machines if machine.id == "Relay")
    assert (relay.name, relay.type) == ("mcpist-local-relay", "EXPRESS")
    runner = "arn:aws:lambda:us-east-1:123456789012:function:mcpist-StepRunnerFunction:live"
    assert relay.definition["States"]["step"]["Parameters"]["FunctionName"] == runner


def test_a_missing_an_unknown_and_a_forbidden_parameter_are_named(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("Parameters: {Place: {Type: String}}")
    with pytest.raises(TemplateError, match="Place"):
        read_template(file, {})
    with pytest.raises(TemplateError, match="Isuer"):
        read_template(ROOT / "template.yaml", {"Isuer": "x", **ISSUER})
    with pytest.raises(TemplateError, match="LogLevel"):
        read_template(ROOT / "template.yaml", {"LogLevel": "LOUD", **ISSUER})


def test_allowed_origins_are_a_list_and_each_is_validated() -> None:
    def told(origins: str) -> str:
        template = read_template(ROOT / "template.yaml", {"AllowedOrigins": origins, **ISSUER})
        return next(one for one in template.functions if one.id == "McpEndpointFunction").environment["ALLOWED_ORIGINS"]

    assert told("") == ""
    assert told("https://app.example.com,http://127.0.0.1:6274") == "https://app.example.com,http://127.0.0.1:6274"
    for wrong in ("*", "app.example.com", "https://app.example.com/", "https://app.example.com,*", "https://*.com"):
        with pytest.raises(TemplateError, match="AllowedOrigins"):
            told(wrong)


def test_the_embedded_aws_has_no_user_pool() -> None:
    with pytest.raises(TemplateError, match="Login"):
        read_template(ROOT / "template.yaml", {})


CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/a1b2"


def urls(**parameters: str) -> set[str]:
    template = read_template(ROOT / "template.yaml", {**ISSUER, **parameters})
    return {one.environment["PUBLIC_URL"] for one in template.functions}


def test_every_function_knows_the_endpoints_address_from_the_first_deployment() -> None:
    domain = {"DomainName": "mcp.example.com", "CertificateArn": CERTIFICATE}
    assert urls() == {"https://mcpist-Api.execute-api.us-east-1.amazonaws.com"}
    assert urls(**domain) == {"https://mcp.example.com"}
    assert urls(**domain, PublicUrl="https://proxy.example.com") == {"https://proxy.example.com"}


def test_a_domain_needs_its_certificate_and_a_zone_its_domain() -> None:
    with pytest.raises(TemplateError, match="DomainName needs CertificateArn"):
        urls(DomainName="mcp.example.com")
    with pytest.raises(TemplateError, match="HostedZoneId needs DomainName"):
        urls(HostedZoneId="Z1")


@pytest.mark.parametrize(
    ("parameter", "values"),
    {
        "PublicUrl": ["https://a.example.com/", "https://a.example.com/mcp", "http://a.example.com", "a.example.com"],
        "DomainName": ["https://a.example.com", "a.example.com.", "A.example.com", "example", "*.example.com"],
        "CertificateArn": ["a1b2", "arn:aws:iam::123456789012:server-certificate/x"],
        "HostedZoneId": ["/hostedzone/Z1"],
        "Issuer": ["http://login.example.com", "login.example.com", "https://login.example.com?x=1"],
        "Audience": ["two words", 'quo"ted'],
        "ConnectClientId": ["two words", "quo'ted"],
        "LoginClientId": ["two words", "quo'ted"],
        "Administrator": ["ada", "ada@", "ada @example.com", "ada@eve@example.com"],
        "FormerVaultKey": ["a1b2", "alias/vault"],
        "AlarmEmail": ["ops", "a@example.com,b@example.com"],
        "RequestRate": ["0", "many"],
        "KeepHours": ["169"],
        "OwnLogin": ["yes"],
    }.items(),
)
def test_a_parameter_refuses_what_cannot_work(parameter: str, values: list[str]) -> None:
    for value in values:
        with pytest.raises(TemplateError, match=parameter):
            urls(**{parameter: value})


def test_every_text_parameter_has_a_pattern_or_a_list_of_values() -> None:
    parameters = read_yaml(ROOT / "template.yaml")["Parameters"]
    for name, one in parameters.items():
        if one["Type"] == "String":
            assert "AllowedValues" in one or {"AllowedPattern", "ConstraintDescription"} <= set(one), name
        else:
            assert (one["Type"], "MinValue" in one) == ("Number", True), name


def test_a_resource_whose_condition_is_false_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("""
Conditions: {Never: !Equals [a, b]}
Resources:
  Here: {Type: AWS::S3::Bucket}
  Gone: {Type: AWS::S3::Bucket, Condition: Never}
""")
    assert [bucket.id for bucket in read_template(file, {}).buckets] == ["Here"]
