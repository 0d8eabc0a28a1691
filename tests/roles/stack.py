"""The policies of a deployment's template, resolved, and the resources that they speak of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.intrinsics import read_yaml
from infra.local.names import ACCOUNT, REGION, arn
from infra.local.template import Template
from infra.source import ROOT
from tests.roles.evaluator import Context, Policy, Question, frozen

# The account's own key for Parameter Store; AWS writes its policy, which lets in whoever may read the parameter.
# https://docs.aws.amazon.com/kms/latest/developerguide/services-parameter-store.html
PARAMETER_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/00000000-0000-4000-8000-000000000000"
PARAMETER_KEY_POLICY: Policy = [
    {
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": ["kms:Decrypt", "kms:DescribeKey"],
        "Resource": "*",
        "Condition": {"StringEquals": {"kms:CallerAccount": ACCOUNT, "kms:ViaService": f"ssm.{REGION}.amazonaws.com"}},
    }
]
# A person who may do everything that the resources' own policies leave to the account.
OWNER = "owner"
OWNER_ARN = f"arn:aws:sts::{ACCOUNT}:assumed-role/owner/session"
OWNER_POLICY: Policy = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
FOREIGN = {OWNER: OWNER_POLICY, PARAMETER_KEY: PARAMETER_KEY_POLICY}
"""The policies that the template does not hold."""


@dataclass(frozen=True)
class Stack:
    """One deployment's roles and policies."""

    template: Template
    policies: Mapping[str, Policy]
    """By a role's logical id, by `trust of` a role's, and by the ARN of a key, or a bucket."""
    roles: Mapping[str, str]
    """The role of each function."""
    log_groups: Mapping[str, str]
    """The log group's name of each function."""
    role_arns: Mapping[str, str]

    def ask(self, role: str, action: str, resource: str, context: Context) -> Question:
        """Return the question whether a session of a role may do something."""
        session = f"arn:aws:sts::{ACCOUNT}:assumed-role/{self.role_arns[role].rpartition('/')[2]}/session"
        return self._ask(session, role, action, resource, context)

    def ask_owner(self, action: str, resource: str, context: Context) -> Question:
        """Return the question whether an administrator of the account may do something."""
        return self._ask(OWNER_ARN, OWNER, action, resource, context)

    def _ask(self, principal: str, identity: str, action: str, resource: str, context: Context) -> Question:
        context = {"aws:SecureTransport": "true", "aws:PrincipalAccount": ACCOUNT} | dict(context)
        return Question(principal, action, resource, frozen(context), identity, self.resource_policy(resource))

    def ask_trust(self, role: str, service: str, account: str = ACCOUNT) -> Question:
        """Return the question whether an AWS service may take a role, for something in an account."""
        source = frozen({"aws:SourceAccount": account})
        return Question(f"{service}.amazonaws.com", "sts:AssumeRole", self.role_arns[role], source, "", trust(role))

    def arn(self, id_: str) -> str:
        """Return the ARN of a resource of the template."""
        return self.template.intrinsics.get_att(id_, "Arn")

    def role_taken_by(self, service: str) -> str:
        """Return the only role that an AWS service may take."""
        trusting = {"Service": f"{service}.amazonaws.com"}
        (role,) = [
            role for role in self.role_arns if trusting in [one["Principal"] for one in self.policies[trust(role)]]
        ]
        return role

    def resource_policy(self, resource: str) -> str:
        """Return the name of a resource's own policy, if it has one."""
        name = resource.partition("/")[0] if resource.startswith("arn:aws:s3:::") else resource
        return name if name in self.policies else ""


def trust(role: str) -> str:
    """Return the name of the policy that says who may take a role."""
    return f"trust of {role}"


def stack_of(template: Template) -> Stack:
    """Resolve the policies of template.yaml as a deployment has resolved the rest of it."""
    resolve = template.intrinsics.resolve
    resources: dict[str, Any] = read_yaml(ROOT / "template.yaml")["Resources"]
    by_type: dict[str, dict[str, Any]] = {}
    for id_, resource in resources.items():
        by_type.setdefault(resource["Type"], {})[id_] = resource.get("Properties", {})
    roles = by_type["AWS::IAM::Role"]
    functions = by_type["AWS::Serverless::Function"]
    policies: dict[str, Policy] = dict(FOREIGN)
    for id_, role in roles.items():
        policies[id_] = [s for one in resolve(role["Policies"]) for s in one["PolicyDocument"]["Statement"]]
        policies[trust(id_)] = resolve(role["AssumeRolePolicyDocument"])["Statement"]
    for key in template.keys:
        policies[str(arn(key.key_id, "AWS::KMS::Key"))] = list((key.policy or {})["Statement"])
    for policy in by_type["AWS::S3::BucketPolicy"].values():
        policies[f"arn:aws:s3:::{resolve(policy['Bucket'])}"] = resolve(policy["PolicyDocument"])["Statement"]
    return Stack(
        template,
        policies,
        {id_: properties["Role"]["Fn::GetAtt"][0] for id_, properties in functions.items()},
        {id_: resolve(properties["LoggingConfig"]["LogGroup"]) for id_, properties in functions.items()},
        {id_: template.intrinsics.get_att(id_, "Arn") for id_ in roles},
    )
