"""The rights that the template gives, read as CloudFormation sees it: translated by SAM's own translator."""

import json
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from infra.local.intrinsics import read_yaml
from infra.local.template import read_template
from mcpist.batch.machine import machine_usage
from mcpist.batch.machine.definition import MACHINE_TYPE
from mcpist_services import NAMES
from tests.translation import template, translate

type Json = dict[str, Any]
type Statement = dict[str, Any]

ROOT = Path(__file__).parents[1]
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
WORDS += ("thirteen", "fourteen")
DOORS = {
    "McpEndpoint",
    "RestApi",
    "StepRunner",
    "TokenBroker",
    "ProgramRunner",
    "Console",
    "Login",
    "Janitor",
    "Events",
}
MCP_ROUTES = {
    "ANY /mcp",
    "ANY /mcp/",
    "ANY /mcp/{organization}",
    "ANY /mcp/categories",
    "ANY /mcp/{organization}/categories",
    "ANY /mcp/readonly",
    "ANY /mcp/{organization}/readonly",
    "ANY /.well-known/oauth-protected-resource",
    "ANY /.well-known/oauth-protected-resource/{proxy+}",
}
LOGIN_ROUTES = {
    "ANY /login/{proxy+}",
    "ANY /.well-known/oauth-authorization-server",
    "ANY /.well-known/openid-configuration",
}
REST_ROUTES = {"ANY /tools/call", "ANY /v1/{proxy+}", "ANY /scim/v2/{proxy+}"}
PAGE_ROUTES = {
    "GET /connect",
    "GET /connect/login",
    "GET /connect/{service}",
    "POST /connect/{service}",
    "GET /connect/callback/{provider}",
    "GET /connect/clients/{provider}",
    "POST /connect/confirm",
    "ANY /",
    "ANY /{page}",
    "GET /assets/{file}",
}
TEMPLATE = read_template(ROOT / "template.yaml", {"OwnLogin": "off"})
WITH_LOGIN = read_template(ROOT / "template.yaml", {"Issuer": "https://login.example.com", "LoginClientId": "mcpist"})
# The evaluator of roles holds that AWS has no resource for them (test_roles.py).
WITHOUT_RESOURCES = {"states:ListStateMachines"}
LAYERS = ("DependenciesLayer", "CoreLayer", "ServicesLayer", "ConfigLayer")


@pytest.fixture(scope="module")
def translations() -> dict[str, Json]:
    """The template as it is (under ""), and as it is when only the named layer's content differs."""
    templates = {"": template(), **{layer: template() for layer in LAYERS}}
    for layer in LAYERS:
        templates[layer]["Resources"][layer]["Properties"]["ContentUri"] += "/changed"
    return translate(templates)


@pytest.fixture(scope="module")
def resources(translations: dict[str, Json]) -> Json:
    return translations[""]["Resources"]


def of_type(resources: Json, kind: str) -> Json:
    return {id_: resource["Properties"] for id_, resource in resources.items() if resource["Type"] == kind}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def statements(resources: Json, role: str) -> Iterator[Statement]:
    """Yield the statements of a role under any parameters; those of tracing and a VPC have tests of their own."""
    for policy in resources[role]["Properties"]["Policies"]:
        if "Fn::If" not in policy:
            yield from policy["PolicyDocument"]["Statement"]


def allowed(resources: Json, role: str) -> set[tuple[str, str]]:
    """Every (action, resource) of a role; resources as compact JSON."""
    return {
        (action, json.dumps(resource, sort_keys=True))
        for statement in statements(resources, role)
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def arn(id_: str) -> str:
    return json.dumps({"Fn::GetAtt": [id_, "Arn"]})


def ref(id_: str) -> str:
    return json.dumps({"Ref": id_})


def references(value: Any) -> Iterator[str]:
    """The ids that a value refers to."""
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "Ref":
                yield item
            elif key == "Fn::GetAtt":
                yield item[0] if isinstance(item, list) else item.split(".")[0]
            elif key == "Fn::Sub":
                yield from (name.split(".")[0] for name in re.findall(r"\$\{([^!}]+)\}", json.dumps(item)))
                yield from references(item[1:] if isinstance(item, list) else [])
            else:
                yield from references(item)


# -- roles --------------------------------------------------------------------------------------------------


def test_each_function_has_a_role_of_its_own_that_only_lambda_assumes(resources: Json) -> None:
    functions = of_type(resources, "AWS::Lambda::Function")
    roles = {id_: properties["Role"]["Fn::GetAtt"][0] for id_, properties in functions.items()}
    assert roles == {f"{door}Function": f"{door}Role" for door in DOORS}
    for role in roles.values():
        assert [
            (trust["Principal"], trust["Action"])
            for trust in resources[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        ] == [({"Service": "lambda.amazonaws.com"}, "sts:AssumeRole")]


def test_no_role_allows_a_wildcard_action_or_every_resource(resources: Json) -> None:
    for id_, role in of_type(resources, "AWS::IAM::Role").items():
        assert "ManagedPolicyArns" not in role, f"{id_}: AWS's managed policies grant on *"
        for statement in statements(resources, id_):
            assert statement["Effect"] == "Allow"
            assert not {"NotAction", "NotResource"} & set(statement)
            assert not [action for action in listed(statement["Action"]) if "*" in action], (id_, statement)
            for resource in listed(statement["Resource"]):
                text = resource if isinstance(resource, str) else resource.get("Fn::Sub", "")
                text = text if isinstance(text, str) else text[0]
                assert text != "*" or set(listed(statement["Action"])) <= WITHOUT_RESOURCES, (id_, statement)
                assert "*" not in text[:-1], (id_, statement)


def test_functions_that_run_tools_stand_in_the_owners_vpc_and_their_code_has_no_right_there(resources: Json) -> None:
    inside = [id_ for id_, function in of_type(resources, "AWS::Lambda::Function").items() if "VpcConfig" in function]
    assert set(inside) == {"McpEndpointFunction", "RestApiFunction", "StepRunnerFunction", "ConsoleFunction"}
    for id_ in inside:
        assert resources[id_]["Properties"]["VpcConfig"]["Fn::If"][0] == "InVpc"
        policies = resources[f"{id_.removesuffix('Function')}Role"]["Properties"]["Policies"]
        (policy,) = (one["Fn::If"][1] for one in policies if one.get("Fn::If", [""])[0] == "InVpc")
        made, denied = policy["PolicyDocument"]["Statement"]
        assert {action.partition(":")[0] for action in made["Action"]} == {"ec2"}
        assert (denied["Effect"], denied["Action"]) == ("Deny", "ec2:*")
        assert denied["Condition"] == {"Null": {"lambda:SourceFunctionArn": "false"}}


def test_a_star_stands_only_where_aws_has_no_other_form(resources: Json) -> None:
    documents = {
        (id_, statement["Sid"]): statement
        for id_, resource in resources.items()
        for name in ("KeyPolicy", "PolicyDocument")
        if isinstance(document := resource["Properties"].get(name), dict)
        for statement in document["Statement"]
    }
    starred = {
        key: {name for name in ("Action", "Principal", "Resource") if '"*"' in json.dumps(statement[name])}
        for key, statement in documents.items()
    }
    itself = {"Resource"}
    assert starred == {
        ("DataKey", "Administer"): itself,
        ("DataKey", "UseThroughStores"): itself,
        ("VaultKey", "Administer"): itself,
        ("VaultKey", "SealAndOpen"): itself,
        ("LoginKey", "Administer"): itself,
        ("LoginKey", "Sign"): itself,
        ("LoginKey", "Verify"): itself,
        ("FilesBucketPolicy", "TlsOnly"): {"Principal"},
    }
    assert documents["FilesBucketPolicy", "TlsOnly"]["Effect"] == "Deny"
    assert {type_ for type_ in (r["Type"] for r in resources.values()) if "Policy" in type_} == {
        "AWS::S3::BucketPolicy"
    }


def test_every_door_may_send_traces_and_only_where_the_stack_is_traced(
    translations: dict[str, Json], resources: Json
) -> None:
    conditional = {
        id_: [one for policy in role["Policies"] if (one := policy.get("Fn::If", [""]))[0] == "Traces"]
        for id_, role in of_type(resources, "AWS::IAM::Role").items()
    }
    assert conditional.pop("MachinesRole") == conditional.pop("ProgramRunnerRole") == []
    assert {*conditional, "ProgramRunnerRole"} == {f"{door}Role" for door in DOORS}
    for (condition, policy, otherwise), *more in conditional.values():
        assert (condition, otherwise, more) == ("Traces", {"Ref": "AWS::NoValue"}, [])
        assert policy["PolicyDocument"]["Statement"] == [
            {
                "Sid": "SendTraces",
                "Effect": "Allow",
                "Action": ["xray:PutTraceSegments", "xray:PutTelemetryRecords"],
                "Resource": "*",
            }
        ]
    assert translations[""]["Conditions"]["Traces"] == {"Fn::Equals": [{"Ref": "Tracing"}, "on"]}
    assert translations[""]["Parameters"]["Tracing"]["Default"] == "off"
    for id_, properties in of_type(resources, "AWS::Lambda::Function").items():
        if id_ == "ProgramRunnerFunction":
            continue  # a test of its own
        assert properties["TracingConfig"] == {"Mode": {"Fn::If": ["Traces", "Active", "PassThrough"]}}


def test_no_star_in_the_template_goes_without_a_reason() -> None:
    """Above each statement with a star, or at its line, stands a comment."""
    lines = (ROOT / "template.yaml").read_text("utf-8").splitlines()
    starred = [
        number for number, line in enumerate(lines) if re.search(r'(?<![/\w-])\*"?$', line) and ": *" not in line
    ]
    assert len(starred) > 5
    for number in starred:
        sid = next(above for above in range(number, 0, -1) if "- Sid:" in lines[above])
        assert any("#" in line for line in lines[sid - 3 : number + 1]), lines[number]


def test_every_statement_says_what_it_is_for_and_no_action_is_listed_twice(resources: Json) -> None:
    for id_ in of_type(resources, "AWS::IAM::Role"):
        found = list(statements(resources, id_))
        sids = [statement["Sid"] for statement in found]
        assert len(set(sids)) == len(sids)
        pairs = [(a, json.dumps(r)) for s in found for a in listed(s["Action"]) for r in listed(s["Resource"])]
        assert len(set(pairs)) == len(pairs)


def test_only_the_broker_reads_who_we_are_at_the_providers(resources: Json) -> None:
    reach = {
        role: {one for one in allowed(resources, role) if one[0].startswith("ssm:")}
        for role in of_type(resources, "AWS::IAM::Role")
    }
    broker, login = reach.pop("TokenBrokerRole"), reach.pop("LoginRole")
    ((action, secret),) = login
    assert (action, secret.endswith(':parameter/mcpist/${AWS::StackName}/login/*"}')) == ("ssm:GetParameter", True)
    assert {action for action, _ in broker} == {"ssm:GetParameter", "ssm:GetParameters"}
    (parameters,) = {resource for _, resource in broker}
    assert parameters.endswith(':parameter/mcpist/${AWS::StackName}/oauth/*"}')
    others = {resource for found in reach.values() for _, resource in found}
    assert all(one.endswith(':parameter/mcpist/${AWS::StackName}/upstreams/*"}') for one in others)
    assert {role for role, found in reach.items() if found} == {"McpEndpointRole", "RestApiRole", "StepRunnerRole"}


def test_only_the_broker_reaches_the_grants(resources: Json) -> None:
    reach = {
        role: {action for action, resource in allowed(resources, role) if "Grants" in resource}
        for role in of_type(resources, "AWS::IAM::Role")
    }
    assert reach.pop("TokenBrokerRole") == {
        f"dynamodb:{verb}"
        for verb in ("BatchGetItem", "GetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem")
    }
    assert not any(reach.values())
    assert all(
        "GRANTS_TABLE" not in properties["Environment"]["Variables"]
        for id_, properties in of_type(resources, "AWS::Lambda::Function").items()
        if id_ != "TokenBrokerFunction"
    )


def test_the_program_runner_has_no_right_but_to_its_own_logs_under_any_parameters(resources: Json) -> None:
    role = resources["ProgramRunnerRole"]["Properties"]
    (policy,) = role["Policies"]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert set(role) == {"AssumeRolePolicyDocument", "Policies"}
    assert set(statement["Action"]) == {"logs:CreateLogStream", "logs:PutLogEvents"}
    assert json.dumps(statement["Resource"]) == arn("ProgramRunnerLogs")
    properties = resources["ProgramRunnerFunction"]["Properties"]
    assert properties["TracingConfig"] == {"Mode": "PassThrough"}, "to send traces would be a right"
    of_all = template()["Globals"]["Function"]["Environment"]["Variables"]
    assert set(properties["Environment"]["Variables"]) == set(of_all)


def test_machines_may_only_invoke_the_step_runners_alias(resources: Json) -> None:
    assert allowed(resources, "MachinesRole") == {("lambda:InvokeFunction", ref("StepRunnerFunctionAliaslive"))}
    (trust,) = resources["MachinesRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "states.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_only_the_doors_of_batches_pass_a_role_and_only_the_machines_one_to_step_functions(resources: Json) -> None:
    passed = [
        (role, statement["Resource"], statement["Condition"])
        for role in of_type(resources, "AWS::IAM::Role")
        for statement in statements(resources, role)
        if "iam:PassRole" in listed(statement["Action"])
    ]
    to_step_functions = {"StringEquals": {"iam:PassedToService": "states.amazonaws.com"}}
    machines = {"Fn::GetAtt": ["MachinesRole", "Arn"]}
    assert passed == [(role, machines, to_step_functions) for role in ("McpEndpointRole", "RestApiRole", "ConsoleRole")]


def test_functions_invoke_each_other_only_by_alias_and_nobody_but_machines_the_step_runner(resources: Json) -> None:
    invoked = {
        role: {resource for action, resource in allowed(resources, role) if action == "lambda:InvokeFunction"}
        for role in of_type(resources, "AWS::IAM::Role")
    }
    assert invoked == {
        "McpEndpointRole": {ref("TokenBrokerFunctionAliaslive"), ref("ProgramRunnerFunctionAliaslive")},
        "RestApiRole": {ref("TokenBrokerFunctionAliaslive"), ref("ProgramRunnerFunctionAliaslive")},
        "StepRunnerRole": {ref("TokenBrokerFunctionAliaslive"), ref("ProgramRunnerFunctionAliaslive")},
        "ConsoleRole": {ref("TokenBrokerFunctionAliaslive")},
        "TokenBrokerRole": set(),
        "ProgramRunnerRole": set(),
        "LoginRole": set(),
        "EventsRole": {ref("TokenBrokerFunctionAliaslive"), ref("RestApiFunctionAliaslive")},
        "JanitorRole": {ref("TokenBrokerFunctionAliaslive"), ref("RestApiFunctionAliaslive")},
        "MachinesRole": {ref("StepRunnerFunctionAliaslive")},
    }


def test_a_function_that_uses_an_encrypted_store_may_use_its_key_through_that_store_only(resources: Json) -> None:
    through = ["dynamodb.${AWS::Region}.amazonaws.com", "s3.${AWS::Region}.amazonaws.com"]
    for door in DOORS - {"ProgramRunner"}:
        (use,) = [s for s in statements(resources, f"{door}Role") if "kms:" in json.dumps(s["Action"])]
        writes_files = ("s3:PutObject", json.dumps({"Fn::Sub": "${FilesBucket.Arn}/*"})) in allowed(
            resources, f"{door}Role"
        )
        assert set(listed(use["Action"])) == {"kms:Decrypt"} | ({"kms:GenerateDataKey"} if writes_files else set())
        assert use["Resource"] == {"Fn::GetAtt": ["DataKey", "Arn"]}
        services = use["Condition"]["StringEquals"]["kms:ViaService"]
        assert [service["Fn::Sub"] for service in services] == through


def test_the_console_holds_no_key_and_asks_only_the_broker_for_accounts(resources: Json) -> None:
    rights = allowed(resources, "ConsoleRole")
    reached = json.dumps(list(statements(resources, "ConsoleRole")))
    assert "VaultKey" not in reached
    assert '"Grants"' not in reached
    assert {place for action, place in rights if action.startswith("lambda:")} == {ref("TokenBrokerFunctionAliaslive")}
    assert not {action for action, _ in rights if action.startswith(("ssm:", "iam:Create", "iam:Put"))}
    told = resources["ConsoleFunction"]["Properties"]["Environment"]["Variables"]
    assert not {name for name in told if name.endswith(("_KEY", "_PARAMETERS"))}


def test_of_the_files_only_documents_are_deleted_and_only_by_functions_that_run_tools(resources: Json) -> None:
    deleted = {
        role: {resource for action, resource in allowed(resources, role) if action.startswith("s3:Delete")}
        for role in of_type(resources, "AWS::IAM::Role")
    }
    documents = json.dumps({"Fn::Sub": "${FilesBucket.Arn}/rag/*"})
    assert {role for role, found in deleted.items() if found} == {"McpEndpointRole", "RestApiRole", "StepRunnerRole"}
    assert set().union(*deleted.values()) == {documents}
    for role in ("McpEndpointRole", "RestApiRole", "StepRunnerRole"):
        # A conditional delete needs to read, a document that is replaced to be written.
        on_files = {action for action, resource in allowed(resources, role) if "${FilesBucket.Arn}/*" in resource}
        assert {"s3:GetObject", "s3:PutObject"} <= on_files


def test_only_the_janitor_removes_machines_and_of_the_ledger_it_reaches_no_batch(resources: Json) -> None:
    removing = {
        role: {resource for action, resource in allowed(resources, role) if action.startswith("states:Delete")}
        for role in of_type(resources, "AWS::IAM::Role")
    }
    (removable,) = map(json.loads, removing.pop("JanitorRole"))
    assert removable["Fn::Sub"][0].endswith(":stateMachine:mcpist-${Id}-*")
    assert not any(removing.values())
    on_ledger = {"Fn::GetAtt": ["Ledger", "Arn"]}
    uses, lists = (s for s in statements(resources, "JanitorRole") if s["Resource"] == on_ledger)
    assert uses["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [machine_usage.MACHINES_PK]}}
    assert lists["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": [machine_usage.MACHINES_PK, "*#approvals", "*#saved"]}
    }
    assert lists["Action"] == "dynamodb:Query"
    assert not {pair for pair in allowed(resources, "JanitorRole") if pair[0].startswith("s3:")}


def test_only_the_janitor_writes_seals(resources: Json) -> None:
    on_seals = {
        role: {action for action, resource in allowed(resources, role) if '["Seals", "Arn"]' in resource}
        for role in of_type(resources, "AWS::IAM::Role")
    }
    assert on_seals.pop("JanitorRole") == {"dynamodb:Query", "dynamodb:PutItem"}
    assert on_seals.pop("RestApiRole") == on_seals.pop("ConsoleRole") == {"dynamodb:Query"}
    (counted,) = (one for one in statements(resources, "ConsoleRole") if one.get("Sid") == "ReadUses")
    assert counted["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["*#uses"]}}
    assert not any(on_seals.values())
    assert "dynamodb:PutItem" not in {
        action for action, resource in allowed(resources, "JanitorRole") if '["Audit", "Arn"]' in resource
    }


# -- keys ---------------------------------------------------------------------------------------------------


def test_only_the_login_signs_and_nobody_grants_itself_the_right(resources: Json) -> None:
    signs = {
        (id_, statement["Sid"], json.dumps(statement["Principal"]))
        for id_, key in of_type(resources, "AWS::KMS::Key").items()
        for statement in key["KeyPolicy"]["Statement"]
        if "kms:Sign" in listed(statement["Action"])
    }
    assert signs == {("LoginKey", "Sign", json.dumps({"AWS": {"Fn::GetAtt": ["LoginRole", "Arn"]}}))}
    roles = of_type(resources, "AWS::IAM::Role")
    assert not [role for role in roles if any(action == "kms:Sign" for action, _ in allowed(resources, role))]


def test_no_key_policy_holds_a_wildcard_action_or_principal(resources: Json) -> None:
    for properties in of_type(resources, "AWS::KMS::Key").values():
        # AWS rotates no pair of keys.
        assert properties.get("EnableKeyRotation", False) is ("KeySpec" not in properties)
        for statement in properties["KeyPolicy"]["Statement"]:
            assert statement["Resource"] == "*", "in a key policy, * is the key itself"
            assert "*" not in json.dumps(statement["Action"])
            assert "*" not in json.dumps(statement["Principal"])


def test_only_the_brokers_role_can_seal_and_open_with_the_vault_key(resources: Json) -> None:
    cryptographic = re.compile(r"kms:(Encrypt|Decrypt|ReEncrypt|GenerateDataKey|CreateGrant|Sign|Verify|Derive)")
    users = [
        (statement["Principal"], statement["Action"])
        for statement in resources["VaultKey"]["Properties"]["KeyPolicy"]["Statement"]
        if any(map(cryptographic.match, statement["Action"]))
    ]
    assert users == [({"AWS": {"Fn::GetAtt": ["TokenBrokerRole", "Arn"]}}, ["kms:GenerateDataKey", "kms:Decrypt"])]
    assert not [
        role
        for role in of_type(resources, "AWS::IAM::Role")
        if "VaultKey" in json.dumps(list(statements(resources, role)))
    ]


def test_the_account_uses_the_data_key_only_through_the_stores(resources: Json) -> None:
    administer, use = resources["DataKey"]["Properties"]["KeyPolicy"]["Statement"]
    assert not {"kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey", "kms:CreateGrant"} & set(administer["Action"])
    assert "kms:PutKeyPolicy" in administer["Action"], "else nobody could ever change the policy"
    assert "kms:ViaService" in use["Condition"]["StringEquals"]


# -- functions ----------------------------------------------------------------------------------------------


def test_each_function_has_its_log_group_and_may_write_only_there(resources: Json) -> None:
    for door in DOORS:
        group = f"{door}Logs"
        config = resources[f"{door}Function"]["Properties"]["LoggingConfig"]
        assert (config["LogFormat"], config["LogGroup"]) == ("JSON", {"Ref": group})
        assert resources[group]["Properties"]["RetentionInDays"] > 0
        assert {pair for pair in allowed(resources, f"{door}Role") if pair[0].startswith("logs:")} == {
            ("logs:CreateLogStream", arn(group)),
            ("logs:PutLogEvents", arn(group)),
        }


def test_each_function_is_bounded_and_has_its_alias(resources: Json) -> None:
    aliases = of_type(resources, "AWS::Lambda::Alias")
    for id_, properties in of_type(resources, "AWS::Lambda::Function").items():
        assert properties["Runtime"] == "python3.13"
        assert properties["Architectures"] == ["x86_64"]
        assert properties["Handler"].endswith(".handler.handler")
        behind_the_api = id_ in {"McpEndpointFunction", "ConsoleFunction"}
        limit = 29 if behind_the_api else 600 if id_ == "JanitorFunction" else 60
        assert 0 < properties["Timeout"] <= limit
        assert properties["MemorySize"] >= 512
        assert aliases[f"{id_}Aliaslive"]["Name"] == "live"


@pytest.mark.parametrize(
    ("choice", "started"),
    [
        ("off", set()),
        ("endpoint", {"McpEndpoint"}),
        ("all", {"McpEndpoint", "RestApi", "Console", "TokenBroker", "ProgramRunner", "StepRunner", "Events"}),
    ],
)
def test_only_what_the_owner_chooses_starts_from_a_paid_snapshot_and_never_what_nobody_waits_for(
    choice: str, started: set[str]
) -> None:
    chosen = read_template(ROOT / "template.yaml", {"OwnLogin": "off", "SnapStart": choice})
    assert {one.id.removesuffix("Function") for one in chosen.functions if one.snap_start} == started
    default = template()["Parameters"]["SnapStart"]["Default"]
    assert default == "endpoint"


def test_a_version_that_live_has_left_is_deleted_with_its_snapshot(resources: Json) -> None:
    versions = [one for one in resources.values() if one["Type"] == "AWS::Lambda::Version"]
    assert len(versions) == len(DOORS)
    assert {one["DeletionPolicy"] for one in versions} == {"Delete"}


def test_a_creation_that_fails_leaves_nothing_and_a_removal_leaves_the_data() -> None:
    """Else the keys, tables and bucket of a failed creation stay for ever."""
    kept = {
        path: {
            id_: (one["DeletionPolicy"], one.get("UpdateReplacePolicy"))
            for id_, one in read_yaml(ROOT / path)["Resources"].items()
            if one.get("DeletionPolicy", "Delete") != "Delete"
        }
        for path in ("template.yaml", "infra/cognito.yaml")
    }
    policies = ("RetainExceptOnCreate", "Retain")
    assert kept == {
        "template.yaml": dict.fromkeys(
            (
                *("Directory", "Logins", "Grants", "Events", "Audit", "Seals"),
                *("FilesBucket", "DataKey", "VaultKey", "LoginKey"),
            ),
            policies,
        ),
        "infra/cognito.yaml": {"Users": policies, "FirstAdministrator": policies},
    }


def test_the_parameter_sets_the_level_that_lambda_filters_by_and_no_second_one(resources: Json) -> None:
    for properties in of_type(resources, "AWS::Lambda::Function").values():
        assert properties["LoggingConfig"]["ApplicationLogLevel"] == {"Ref": "LogLevel"}
        assert "LOG_LEVEL" not in properties["Environment"]["Variables"], "Lambda's own is stronger"
    levels = template()["Parameters"]["LogLevel"]["AllowedValues"]
    assert set(levels) <= {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}, "the words that Lambda knows"


def test_nobody_but_the_api_and_the_schedule_is_let_in_by_a_function_itself(resources: Json) -> None:
    let_in = {
        (permission["Principal"], permission["FunctionName"]["Ref"].removesuffix("FunctionAliaslive"))
        for permission in of_type(resources, "AWS::Lambda::Permission").values()
    }
    assert let_in == {
        ("apigateway.amazonaws.com", "McpEndpoint"),
        ("apigateway.amazonaws.com", "RestApi"),
        ("apigateway.amazonaws.com", "Console"),
        ("apigateway.amazonaws.com", "Login"),
        ("apigateway.amazonaws.com", "Events"),
        ("events.amazonaws.com", "Events"),
        ("events.amazonaws.com", "Janitor"),
        ("events.amazonaws.com", "RestApi"),
    }


def test_the_whole_api_is_throttled_and_the_pages_that_need_no_token_more(resources: Json) -> None:
    (stage,) = of_type(resources, "AWS::ApiGatewayV2::Stage").values()
    rate = {"Ref": "RequestRate"}
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": rate}
    assert stage["RouteSettings"] == {
        page: dict.fromkeys(("ThrottlingRateLimit", "ThrottlingBurstLimit"), 10 if "/connect" in page else 50)
        for page in PAGE_ROUTES
    }
    limited = {resources[id_]["Properties"]["RouteKey"] for id_ in resources["ApiStage"]["DependsOn"]}
    assert limited == PAGE_ROUTES, "a route must exist before the stage can limit it"


def test_executions_are_reserved_for_the_broker_and_steps_bounded_only_where_the_owner_says_so(
    translations: dict[str, Json], resources: Json
) -> None:
    reserved = {
        id_: properties["ReservedConcurrentExecutions"]
        for id_, properties in of_type(resources, "AWS::Lambda::Function").items()
        if "ReservedConcurrentExecutions" in properties
    }
    none = {"Ref": "AWS::NoValue"}
    assert reserved == {
        "TokenBrokerFunction": {"Fn::If": ["ReservesBroker", {"Ref": "BrokerConcurrency"}, none]},
        "StepRunnerFunction": {"Fn::If": ["BoundsSteps", {"Ref": "StepConcurrency"}, none]},
    }
    defaults = {
        name: translations[""]["Parameters"][name]["Default"] for name in ("BrokerConcurrency", "StepConcurrency")
    }
    assert set(defaults.values()) == {0}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_change_in_a_layer_alone_publishes_a_new_version_of_every_function(
    translations: dict[str, Json], layer: str
) -> None:
    before, after = (set(of_type(translations[which]["Resources"], "AWS::Lambda::Version")) for which in ("", layer))
    assert len(before) == len(after) == len(DOORS)
    assert not before & after


# -- the API ------------------------------------------------------------------------------------------------


def test_every_route_of_the_api_leads_to_its_doors_alias(resources: Json) -> None:
    assert {route.key: route.function for route in TEMPLATE.routes} == {
        **dict.fromkeys(MCP_ROUTES, "McpEndpointFunction"),
        **dict.fromkeys(REST_ROUTES, "RestApiFunction"),
        **dict.fromkeys(PAGE_ROUTES, "ConsoleFunction"),
        "POST /hooks/{source}": "EventsFunction",
    }
    with_login = {route.key: route.function for route in WITH_LOGIN.routes if route.function == "LoginFunction"}
    assert with_login == dict.fromkeys(LOGIN_ROUTES, "LoginFunction")
    for integration in of_type(resources, "AWS::ApiGatewayV2::Integration").values():
        assert integration["IntegrationUri"]["Ref"].endswith("FunctionAliaslive")
        assert integration["PayloadFormatVersion"] == "2.0"


def test_no_resource_needs_another_that_needs_it(resources: Json) -> None:
    """The functions are given the API's address, and the API leads to the functions."""
    needs = {
        id_: {
            needed
            for needed in (*references(resource["Properties"]), *listed(resource.get("DependsOn", [])))
            if needed in resources
        }
        for id_, resource in resources.items()
    }
    assert "Api" in needs["McpEndpointFunction"] & needs["TokenBrokerFunction"] & needs["Login"]
    order = list(TopologicalSorter(needs).static_order())
    assert order.index("Api") < order.index("McpEndpointFunction") < order.index("McpRoute")


def test_the_login_challenge_is_mapped_back_unless_the_owner_switches_that_off(resources: Json) -> None:
    back = {
        "Destination": "overwrite:header.www-authenticate",
        "Source": "$response.header.x-mcpist-www-authenticate",
    }
    mapped = {"Fn::If": ["MapsChallenge", {"401": {"ResponseParameters": [back]}}, {"Ref": "AWS::NoValue"}]}
    assert resources["McpEndpointIntegration"]["Properties"]["ResponseParameters"] == mapped
    off = read_template(ROOT / "template.yaml", {"OwnLogin": "off", "ChallengeHeader": "renamed"})
    assert [one.intrinsics.holds("MapsChallenge") for one in (TEMPLATE, off)] == [True, False]


def test_what_pages_of_other_origins_may_do_is_the_endpoints_own_matter(resources: Json) -> None:
    """API Gateway's own settings would hold for the pages under /connect, too."""
    assert "CorsConfiguration" not in resources["Api"]["Properties"]
    given = {
        id_
        for id_, properties in of_type(resources, "AWS::Lambda::Function").items()
        if "ALLOWED_ORIGINS" in properties["Environment"]["Variables"]
    }
    assert given == {"McpEndpointFunction", "RestApiFunction"}


def test_of_all_apis_only_the_stacks_own_may_invoke_a_function(resources: Json) -> None:
    permissions = list(granted_to(resources, "apigateway.amazonaws.com"))
    api = "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/*/*"
    assert {permission["SourceArn"]["Fn::Sub"] for permission in permissions} == {api}
    assert {permission["FunctionName"]["Ref"] for permission in permissions} == {
        integration["IntegrationUri"]["Ref"]
        for integration in of_type(resources, "AWS::ApiGatewayV2::Integration").values()
    }


def test_a_domain_of_ones_own_leads_to_the_api_and_comes_only_with_its_certificate(resources: Json) -> None:
    domain, mapping, record = (resources[id_] for id_ in ("Domain", "DomainMapping", "DomainRecord"))
    assert (domain["Condition"], mapping["Condition"], record["Condition"]) == ("HasDomain", "HasDomain", "HasZone")
    (configuration,) = domain["Properties"]["DomainNameConfigurations"]
    assert configuration["CertificateArn"] == {"Ref": "CertificateArn"}
    assert mapping["Properties"] == {
        "ApiId": {"Ref": "Api"},
        "DomainName": {"Ref": "Domain"},
        "Stage": {"Ref": "ApiStage"},
    }
    assert record["Properties"]["AliasTarget"]["DNSName"] == {"Fn::GetAtt": ["Domain", "RegionalDomainName"]}
    assert [TEMPLATE.intrinsics.holds(one) for one in ("HasDomain", "HasZone")] == [False, False]


def granted_to(resources: Json, principal: str) -> Iterator[Json]:
    permissions = of_type(resources, "AWS::Lambda::Permission").values()
    return (permission for permission in permissions if permission["Principal"] == principal)


def test_schedules_call_the_janitor_events_and_automations_and_nothing_else(resources: Json) -> None:
    rules = of_type(resources, "AWS::Events::Rule")
    called = {id_: (rule["ScheduleExpression"], rule["Targets"][0]["Arn"]["Ref"]) for id_, rule in rules.items()}
    assert sorted(called.values()) == [
        ("rate(1 hour)", "JanitorFunctionAliaslive"),
        ("rate(1 minute)", "EventsFunctionAliaslive"),
        ("rate(1 minute)", "RestApiFunctionAliaslive"),
    ]
    for permission in granted_to(resources, "events.amazonaws.com"):
        assert called[permission["SourceArn"]["Fn::GetAtt"][0]][1] == permission["FunctionName"]["Ref"]


def test_messages_that_fail_come_again_and_then_stay_where_an_alarm_counts_them(resources: Json) -> None:
    queue = resources["EventQueue"]["Properties"]
    mappings = of_type(resources, "AWS::Lambda::EventSourceMapping").values()
    (mapping,) = (one for one in mappings if one["EventSourceArn"] == {"Fn::GetAtt": ["EventQueue", "Arn"]})
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["FunctionName"] == {"Ref": "EventsFunctionAliaslive"}
    assert queue["VisibilityTimeout"] >= 6 * resources["EventsFunction"]["Properties"]["Timeout"]
    assert queue["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": ["EventDeadLetters", "Arn"]}
    kept = (resources[name]["Properties"]["MessageRetentionPeriod"] for name in ("EventQueue", "EventDeadLetters"))
    assert next(kept) < next(kept)


def test_new_audit_rows_are_delivered_until_they_are_stored_and_to_nobody_else(resources: Json) -> None:
    mapping = resources["AuditDelivery"]["Properties"]
    assert mapping["FunctionName"] == {"Ref": "JanitorFunctionAliaslive"}
    assert (mapping["StartingPosition"], "MaximumRetryAttempts" in mapping) == ("TRIM_HORIZON", False)
    assert "MaximumRecordAgeInSeconds" not in mapping
    policies = resources["JanitorRole"]["Properties"]["Policies"]
    (delivery,) = (one["Fn::If"][1] for one in policies if one.get("Fn::If", [""])[0] == "ExportsAudit")
    _, put = delivery["PolicyDocument"]["Statement"]
    (account,) = put["Condition"]["StringEquals"].values()
    assert (put["Action"], account["Fn::If"][0]) == ("s3:PutObject", "ExportsToOthers")


# -- stores -------------------------------------------------------------------------------------------------


def test_every_table_is_encrypted_and_recoverable_and_those_that_grow_forget(resources: Json) -> None:
    tables = of_type(resources, "AWS::DynamoDB::Table")
    assert set(tables) == {"Directory", "Logins", "Grants", "Ledger", "Audit", "Seals", "Events"}
    growing = {name for name, table in tables.items() if "TimeToLiveSpecification" in table}
    assert growing == set(tables)
    for name, table in tables.items():
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        if name in growing:
            assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
        assert table["SSESpecification"]["KMSMasterKeyId"] == {"Ref": "DataKey"}


def test_what_cannot_be_made_again_outlives_the_stack(resources: Json) -> None:
    stores = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key")
    kept = {id_ for id_ in resources if resources[id_]["Type"] in stores and id_ != "Ledger"}
    for id_ in kept:
        policies = [resources[id_][name] for name in ("DeletionPolicy", "UpdateReplacePolicy")]
        assert policies == ["RetainExceptOnCreate", "Retain"]


def test_the_bucket_is_private_and_takes_only_tls(resources: Json) -> None:
    bucket = resources["FilesBucket"]["Properties"]
    assert bucket["PublicAccessBlockConfiguration"] == dict.fromkeys(
        ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
    )
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == {"Fn::GetAtt": ["DataKey", "Arn"]}
    (deny,) = resources["FilesBucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "s3:*")
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(deny["Resource"]) == 2


def test_large_results_expire_and_documents_do_not(resources: Json) -> None:
    rules = resources["FilesBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    expiring = {rule["Prefix"]: rule["ExpirationInDays"] for rule in rules if "ExpirationInDays" in rule}
    assert expiring == {"incoming/": 1, "files/": {"Ref": "FileDays"}, "changes/": 30}


def test_a_delete_marker_of_which_no_version_is_left_expires(resources: Json) -> None:
    rules = resources["FilesBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    (clearing,) = [rule for rule in rules if rule.get("ExpiredObjectDeleteMarker")]
    assert not {"Prefix", "ExpirationInDays"} & set(clearing), "S3 takes it in no rule that expires objects"


# -- the whole ----------------------------------------------------------------------------------------------


def test_the_relay_is_of_the_type_that_generated_machines_have(resources: Json) -> None:
    (relay,) = of_type(resources, "AWS::StepFunctions::StateMachine").values()
    assert relay["StateMachineType"] == MACHINE_TYPE


def test_the_pages_count_what_there_is(resources: Json) -> None:
    kinds = ("Lambda::Function", "Lambda::LayerVersion", "DynamoDB::Table", "KMS::Key")
    functions, layers, tables, keys = (WORDS[len(of_type(resources, f"AWS::{kind}"))] for kind in kinds)
    guide = " ".join((ROOT / "docs/deploy.md").read_text("utf-8").split())
    assert f"an HTTP API, {functions} functions with {layers} layers, {tables} tables, a bucket, {keys} keys," in guide
    assert f"tools of {WORDS[len(NAMES)]} modules" in (ROOT / "README.md").read_text("utf-8")
