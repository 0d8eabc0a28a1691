"""What no role of the stack may do, whatever the tests happen to ask; a new role is in it by itself."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import pytest

from infra.local.names import ACCOUNT, REGION
from tests.roles.evaluator import Context, Question, allowed
from tests.roles.stack import OWNER_POLICY
from tests.roles.test_accesses import stack

BROKER, ENDPOINT, REST, RUNNER, MACHINES, JANITOR, CONSOLE, PROGRAMS, LOGIN, EVENTS = (
    f"{name}Role"
    for name in (
        "TokenBroker", "McpEndpoint", "RestApi", "StepRunner", "Machines", "Janitor", "Console", "ProgramRunner",
        "Login", "Events",
    )
)  # fmt: skip
STARTERS = (ENDPOINT, REST, CONSOLE)
"""The roles of the doors that start batches."""
TLS_IS_OFF = {"aws:SecureTransport": "false"}

type Rule = Callable[[], Iterator[Question]]

RULES: list[Rule] = []


def rule(questions: Rule) -> Rule:
    """Have the requests that a function yields refused."""
    RULES.append(questions)
    return questions


@cache
def verdicts() -> Mapping[Question, bool]:
    """Ask all of them at once."""
    asked = [question for questions in RULES for question in questions()]
    return dict(zip(asked, allowed(stack().policies, asked), strict=True))


def all_but(*roles: str) -> list[str]:
    assert set(roles) <= set(stack().role_arns)
    return [role for role in stack().role_arns if role not in roles]


def each(roles: Iterable[str], actions: str, resource: str, context: Context | None = None) -> Iterator[Question]:
    """Yield actions, as `service:First,Second`, of each role."""
    service, _, verbs = actions.partition(":")
    for role in roles:
        yield from (stack().ask(role, f"{service}:{verb}", resource, context or {}) for verb in verbs.split(","))


def owner(actions: str, resource: str, context: Context | None = None) -> Iterator[Question]:
    """Yield actions of somebody who has all rights that the account can give."""
    service, _, verbs = actions.partition(":")
    yield from (stack().ask_owner(f"{service}:{verb}", resource, context or {}) for verb in verbs.split(","))


def named(service: str, name: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"


def alias(door: str, qualifier: str = "live") -> str:
    return f"{stack().arn(door)}:{qualifier}"


# -- secrets ------------------------------------------------------------------------------------------------


@rule
def nobody_but_the_broker_opens_or_seals_with_the_vault_key() -> Iterator[Question]:
    key, through = stack().arn("VaultKey"), {"kms:ViaService": f"dynamodb.{REGION}.amazonaws.com"}
    uses = "kms:Decrypt,Encrypt,GenerateDataKey,ReEncryptFrom,CreateGrant"
    yield from each(all_but(BROKER), uses, key)
    yield from each(all_but(BROKER), uses, key, through)
    yield from owner(uses, key)
    yield from each([BROKER], "kms:Encrypt,CreateGrant,ReEncryptFrom", key)


@rule
def nobody_but_the_login_signs_and_it_reaches_no_secret() -> Iterator[Question]:
    key = stack().arn("LoginKey")
    yield from each(all_but(LOGIN), "kms:Sign,Verify,CreateGrant,PutKeyPolicy", key)
    yield from owner("kms:Sign,CreateGrant", key)
    yield from each([LOGIN], "kms:CreateGrant,PutKeyPolicy,ScheduleKeyDeletion", key)
    yield from each([LOGIN], "dynamodb:GetItem,Query,PutItem", stack().arn("Grants"))
    directory = stack().arn("Directory")
    yield from each([LOGIN], "dynamodb:UpdateItem,DeleteItem", directory)
    for key in ("orgs", "publications", "invitations#acme", "domains"):
        yield from each([LOGIN], "dynamodb:PutItem", directory, {"dynamodb:LeadingKeys": [key]})
    yield from each(all_but(LOGIN), "dynamodb:PutItem,UpdateItem,BatchWriteItem", stack().arn("Logins"))


@rule
def the_data_key_opens_nothing_but_what_the_stores_keep() -> Iterator[Question]:
    key = stack().arn("DataKey")
    yield from each(all_but(), "kms:Decrypt,GenerateDataKey", key)
    yield from each(all_but(), "kms:Decrypt", key, {"kms:ViaService": f"ssm.{REGION}.amazonaws.com"})
    yield from owner("kms:Decrypt,CreateGrant", key)


@rule
def nobody_but_the_broker_reaches_a_grant() -> Iterator[Question]:
    actions = "dynamodb:GetItem,BatchGetItem,Query,Scan,PutItem,UpdateItem,DeleteItem,BatchWriteItem"
    yield from each(all_but(BROKER), actions, stack().arn("Grants"))


@rule
def nobody_but_the_broker_reads_our_oauth_apps_and_nobody_another_programs_parameters() -> Iterator[Question]:
    apps, upstreams = (f"parameter/mcpist/mcpist/{kind}/a" for kind in ("oauth", "upstreams"))
    yield from each(all_but(BROKER), "ssm:GetParameter,GetParameters", named("ssm", apps))
    yield from each(
        [BROKER, JANITOR, MACHINES, CONSOLE, PROGRAMS], "ssm:GetParameter,GetParameters", named("ssm", upstreams)
    )
    yield from each(all_but(), "ssm:PutParameter,DeleteParameter", named("ssm", apps))
    login = named("ssm", "parameter/mcpist/mcpist/login/secret"), named("ssm", "parameter/mcpist/mcpist/login/by/a")
    for secret in login:
        yield from each(all_but(LOGIN), "ssm:GetParameter,GetParameters", secret)
    yield from each(all_but(), "ssm:PutParameter,DeleteParameter", login[0])
    yield from each(all_but(CONSOLE, REST), "ssm:PutParameter,DeleteParameter", login[1])
    for other in ("parameter/mcpist/other/oauth/a", "parameter/password"):
        yield from each(all_but(), "ssm:GetParameter,GetParameters", named("ssm", other))


@rule
def code_that_nobody_here_wrote_reaches_nothing() -> Iterator[Question]:
    for table in stack().template.tables:
        yield from each([PROGRAMS], "dynamodb:GetItem,Query,Scan,PutItem,UpdateItem,DeleteItem", stack().arn(table.id))
    yield from each([PROGRAMS], "s3:ListBucket", stack().arn("FilesBucket"))
    for name in ("files/a", "incoming/acme/a", "rag/acme/a.md"):
        yield from each([PROGRAMS], "s3:GetObject,PutObject,DeleteObject", f"{stack().arn('FilesBucket')}/{name}")
    for key in stack().template.keys:
        through = {"kms:ViaService": f"s3.{REGION}.amazonaws.com"}
        yield from each([PROGRAMS], "kms:Decrypt,GenerateDataKey", stack().arn(key.id), through)
    for function in stack().template.functions:
        yield from each([PROGRAMS], "lambda:InvokeFunction", f"{function.arn}:live")
    yield from each([PROGRAMS], "states:StartExecution", named("states", "stateMachine:mcpist-relay"))
    yield from each([PROGRAMS], "xray:PutTraceSegments,PutTelemetryRecords", "*")


# -- the stack itself ---------------------------------------------------------------------------------------


@rule
def no_role_changes_a_key_a_table_or_the_bucket() -> Iterator[Question]:
    for key in stack().template.keys:
        yield from each(all_but(), "kms:PutKeyPolicy,ScheduleKeyDeletion,DisableKey", stack().arn(key.id))
    for table in stack().template.tables:
        actions = "dynamodb:DeleteTable,UpdateTable,UpdateTimeToLive,CreateBackup,ExportTableToPointInTime"
        yield from each(all_but(), actions, stack().arn(table.id))
    for bucket in stack().template.buckets:
        yield from each(all_but(), "s3:PutBucketPolicy,DeleteBucket,PutBucketVersioning", stack().arn(bucket.id))


@rule
def no_role_changes_a_function_or_a_role() -> Iterator[Question]:
    for function in stack().template.functions:
        yield from each(all_but(), "lambda:UpdateFunctionCode,UpdateFunctionConfiguration,AddPermission", function.arn)
    for role in stack().role_arns.values():
        yield from each(all_but(), "iam:PutRolePolicy,AttachRolePolicy,UpdateAssumeRolePolicy", role)


@rule
def a_role_is_passed_to_step_functions_alone_and_only_that_of_machines() -> Iterator[Question]:
    to_states = {"iam:PassedToService": "states.amazonaws.com"}
    machines = stack().role_arns[MACHINES]
    yield from each(all_but(*STARTERS), "iam:PassRole", machines, to_states)
    yield from each(STARTERS, "iam:PassRole", machines, {"iam:PassedToService": "lambda.amazonaws.com"})
    for role in all_but(MACHINES):
        yield from each(STARTERS, "iam:PassRole", stack().role_arns[role], to_states)


@rule
def no_role_takes_another_and_no_service_takes_one_but_its_own_and_in_this_account() -> Iterator[Question]:
    for role in stack().role_arns:
        yield stack().ask_trust(role, "ec2")
        yield stack().ask_trust(role, "lambda" if role == MACHINES else "states")
        yield from each(all_but(), "sts:AssumeRole", stack().role_arns[role])
    yield stack().ask_trust(MACHINES, "states", account="210987654321")


# -- doors and machines -------------------------------------------------------------------------------------


@rule
def no_door_is_invoked_but_by_its_alias_and_the_step_runner_by_machines_alone() -> Iterator[Question]:
    for door in stack().roles:
        yield from each(all_but(), "lambda:InvokeFunction", alias(door, "$LATEST"))
        yield from each(all_but(), "lambda:InvokeFunction", alias(door, "1"))
    yield from each(all_but(MACHINES), "lambda:InvokeFunction", alias("StepRunnerFunction"))
    # The janitor has accounts of deactivated people ended by the broker, and approvals by the REST API.
    yield from each(
        all_but(ENDPOINT, REST, RUNNER, CONSOLE, JANITOR, EVENTS), "lambda:InvokeFunction", alias("TokenBrokerFunction")
    )
    yield from each(all_but(JANITOR, EVENTS), "lambda:InvokeFunction", alias("RestApiFunction"))
    for door in ("McpEndpointFunction", "ConsoleFunction", "LoginFunction"):
        yield from each(all_but(), "lambda:InvokeFunction", alias(door))
    yield from each(all_but(ENDPOINT, REST, RUNNER), "lambda:InvokeFunction", alias("ProgramRunnerFunction"))
    yield from each(all_but(), "lambda:InvokeFunction", alias("JanitorFunction"))
    yield from each(all_but(), "lambda:InvokeFunction", alias("EventsFunction"))


@rule
def the_machines_of_others_are_left_alone_and_ours_are_made_and_removed_by_one_door_each() -> Iterator[Question]:
    ours, theirs = (named("states", f"stateMachine:{name}") for name in ("mcpist-local-1", "payroll"))
    yield from each(all_but(), "states:CreateStateMachine,StartExecution,DeleteStateMachine,TagResource", theirs)
    yield from each(all_but(), "states:UpdateStateMachine", ours)
    yield from each(all_but(JANITOR), "states:DeleteStateMachine", ours)
    yield from each(all_but(*STARTERS), "states:CreateStateMachine", ours)


# -- what is kept -------------------------------------------------------------------------------------------


@rule
def no_audit_row_is_changed_or_deleted() -> Iterator[Question]:
    yield from each(all_but(), "dynamodb:UpdateItem,DeleteItem,BatchWriteItem", stack().arn("Audit"))


@rule
def only_the_janitor_writes_seals_and_it_writes_no_row() -> Iterator[Question]:
    yield from each(all_but(JANITOR), "dynamodb:PutItem", stack().arn("Seals"))
    yield from each(all_but(), "dynamodb:UpdateItem,DeleteItem,BatchWriteItem", stack().arn("Seals"))
    yield from each([JANITOR], "dynamodb:PutItem", stack().arn("Audit"))


@rule
def the_janitor_changes_no_organization() -> Iterator[Question]:
    directory = stack().arn("Directory")
    for key in ("orgs", "org#acme"):
        yield from each([JANITOR], "dynamodb:PutItem,UpdateItem,DeleteItem", directory, {"dynamodb:LeadingKeys": [key]})
    yield from each([JANITOR], "dynamodb:DeleteItem", directory, {"dynamodb:LeadingKeys": ["subject#https://a#b"]})
    yield from each([JANITOR], "dynamodb:Scan,BatchWriteItem", directory)


@rule
def of_the_ledger_the_janitor_reaches_no_batch() -> Iterator[Question]:
    ledger = stack().arn("Ledger")
    yield from each([JANITOR], "dynamodb:Query,UpdateItem,DeleteItem", ledger, {"dynamodb:LeadingKeys": ["acme#b_1"]})
    yield from each([JANITOR], "dynamodb:Scan", ledger)  # it names no keys, so the condition would not stop it


@rule
def of_the_ledger_doors_delete_only_notes_about_automations() -> Iterator[Question]:
    yield from each([REST], "dynamodb:DeleteItem", stack().arn("Ledger"), {"dynamodb:LeadingKeys": ["acme#b_1"]})
    yield from each([ENDPOINT, CONSOLE, EVENTS], "dynamodb:DeleteItem", stack().arn("Ledger"))


@rule
def in_the_ledger_the_step_runner_makes_only_places_of_files_and_changes() -> Iterator[Question]:
    for key in ("acme#b_1", "acme#files", "acme#approvals"):
        yield from each([RUNNER], "dynamodb:PutItem", stack().arn("Ledger"), {"dynamodb:LeadingKeys": [key]})
    yield from each([RUNNER], "dynamodb:DeleteItem,BatchWriteItem,Scan", stack().arn("Ledger"))


@rule
def files_are_reached_by_tls_and_not_destroyed() -> Iterator[Question]:
    files, documents = (f"{stack().arn('FilesBucket')}/{name}" for name in ("files/a", "rag/acme/a.md"))
    yield from each(all_but(), "s3:GetObject,PutObject", files, TLS_IS_OFF)
    yield from owner("s3:GetObject", files, TLS_IS_OFF)
    yield from each(all_but(), "s3:DeleteObjectVersion", documents)
    yield from each([BROKER, MACHINES, PROGRAMS], "s3:GetObject,PutObject,DeleteObject", files)


@rule
def a_role_writes_only_the_log_of_its_own_function_and_reads_none() -> Iterator[Question]:
    for function, role in stack().roles.items():
        stream = named("logs", f"log-group:{stack().log_groups[function]}:log-stream:s")
        yield from each(all_but(role), "logs:PutLogEvents", stream)
        yield from each(all_but(), "logs:GetLogEvents", stream)


@pytest.mark.parametrize("questions", RULES, ids=lambda questions: questions.__name__)
def test_of_what_no_role_may_do_everything_is_refused(questions: Rule) -> None:
    asked = list(questions())
    assert asked
    assert not [question for question in asked if verdicts()[question]]


def test_a_rule_is_about_something_since_a_role_with_all_rights_may_do_it() -> None:
    asked = list(nobody_but_the_broker_reaches_a_grant())
    everything = dict.fromkeys(stack().role_arns, OWNER_POLICY)
    assert all(allowed(stack().policies | everything, asked))
