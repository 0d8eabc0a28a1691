"""template.yaml as typed values: functions, routes, tables, buckets, keys and machines."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeGuard

from infra.local.intrinsics import NO_VALUE, Intrinsics, TemplateError, read_yaml
from infra.local.names import FUNCTION, NAME_PROPERTIES, PSEUDO, QUEUE, QUEUE_URL, REF_IS_ARN, arn, generated_name

LAMBDA_DEFAULT_TIMEOUT_SECONDS = 3
LAMBDA_DEFAULT_MEMORY_MB = 128


@dataclass(frozen=True, slots=True)
class Function:
    """One Lambda function."""

    id: str
    name: str
    handler: str
    code: Path
    layers: tuple[Path, ...]
    timeout_seconds: int
    memory_mb: int
    environment: Mapping[str, str]
    alias: str | None
    snap_start: bool
    log_format: str
    log_level: str = "INFO"
    """The level below which Lambda drops log lines, if their format is JSON."""
    traced: bool = False

    @property
    def arn(self) -> str:
        """The unqualified ARN."""
        return str(arn(self.name, FUNCTION))

    @property
    def invoked_arn(self) -> str:
        """The ARN by which everything but a test invokes it: its alias's, where it has one."""
        return f"{self.arn}:{self.alias}" if self.alias else self.arn

    @property
    def qualifiers(self) -> frozenset[str]:
        """The qualifiers that may follow the name: the alias, its version and `$LATEST`."""
        return frozenset({"$LATEST", "1"} | ({self.alias} if self.alias else set()))


@dataclass(frozen=True, slots=True)
class Route:
    """One route of the HTTP API: `method` may be ANY, `path` may hold `{name}` and `{proxy+}`."""

    method: str
    path: str
    function: str

    @property
    def key(self) -> str:
        """API Gateway's `routeKey`."""
        return self.path if self.path == "$default" else f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """One DynamoDB table."""

    id: str
    name: str
    definition: Mapping[str, Any]
    """The arguments of CreateTable."""
    ttl_attribute: str | None
    """The attribute with the time at which an item expires."""
    point_in_time_recovery: bool


@dataclass(frozen=True, slots=True)
class Bucket:
    """One S3 bucket; public access block and encryption are arguments of S3's API."""

    id: str
    name: str
    versioned: bool
    public_access_block: Mapping[str, Any] | None
    encryption: Mapping[str, Any] | None
    expirations: Mapping[str, int]
    """The days after which objects expire, by the prefix of their keys."""

    def expiration_days(self, key: str) -> int:
        """Return the days after which an object expires; 0 for never."""
        return min((days for prefix, days in self.expirations.items() if key.startswith(prefix)), default=0)


@dataclass(frozen=True, slots=True)
class Key:
    """One KMS key."""

    id: str
    key_id: str
    description: str
    rotation_days: int
    """The days after which its material rotates; 0 for never."""
    policy: Mapping[str, Any] | None
    usage: str = "ENCRYPT_DECRYPT"
    spec: str = "SYMMETRIC_DEFAULT"

    @property
    def signs(self) -> bool:
        """Whether it is a pair of keys, of which the private one signs."""
        return self.usage == "SIGN_VERIFY"


@dataclass(frozen=True, slots=True)
class DeclaredMachine:
    """One Step Functions state machine."""

    id: str
    name: str
    type: Literal["STANDARD", "EXPRESS"]
    definition: Mapping[str, Any]
    role: str


@dataclass(frozen=True, slots=True)
class Queue:
    """One SQS queue."""

    name: str
    dead_letters: str
    """The name of the queue of messages that were received too often; empty where there is none."""
    max_receives: int
    consumer: str
    """The id of the function that its messages are for; empty where there is none."""
    batch_size: int


@dataclass(frozen=True, slots=True)
class StreamConsumer:
    """A function that follows the new items of a table."""

    table: str
    """The table's name."""
    function: str
    """The function's id."""
    batch_size: int


@dataclass(frozen=True, slots=True)
class Template:
    """The resources of a template that the embedded AWS implements."""

    functions: tuple[Function, ...]
    routes: tuple[Route, ...]
    tables: tuple[DeclaredTable, ...]
    buckets: tuple[Bucket, ...]
    keys: tuple[Key, ...]
    machines: tuple[DeclaredMachine, ...]
    queues: tuple[Queue, ...]
    streams: tuple[StreamConsumer, ...]
    minutely: tuple[str, ...]
    """The ids of the functions that a schedule invokes each minute."""
    intrinsics: Intrinsics


def read_template(path: Path, parameters: Mapping[str, str]) -> Template:
    """Read the template at `path`."""
    return _TemplateReader(path, read_yaml(path), parameters).template()


class _TemplateReader:
    def __init__(self, path: Path, document: dict[str, Any], given: Mapping[str, str]) -> None:
        self._folder = path.parent
        self._resources: dict[str, dict[str, Any]] = document.get("Resources", {})
        self._globals: dict[str, Any] = document.get("Globals", {}).get("Function", {})
        parameters = parameter_values(document.get("Parameters", {}), given)
        self.intrinsics = Intrinsics(parameters, document.get("Conditions", {}), self._ref, self._get_att)
        check_rules(document.get("Rules", {}), parameters)

    def template(self) -> Template:
        functions = tuple(map(self._function, self._of_type(FUNCTION)))
        return Template(
            functions=functions,
            routes=tuple(self._routes(functions)),
            tables=tuple(self._table(id_) for id_ in self._of_type("AWS::DynamoDB::Table")),
            buckets=tuple(self._bucket(id_) for id_ in self._of_type("AWS::S3::Bucket")),
            keys=tuple(self._key(id_) for id_ in self._of_type("AWS::KMS::Key")),
            machines=tuple(self._machine(id_) for id_ in self._of_type("AWS::Serverless::StateMachine")),
            queues=tuple(self._queue(id_) for id_ in self._of_type(QUEUE)),
            streams=tuple(self._streams(functions)),
            minutely=tuple(
                function
                for function, event in self._events("Schedule")
                if event["Properties"]["Schedule"] == "rate(1 minute)"
            ),
            intrinsics=self.intrinsics,
        )

    def _of_type(self, type_: str) -> list[str]:
        return [
            id_
            for id_, resource in self._resources.items()
            if resource["Type"] == type_
            and ("Condition" not in resource or self.intrinsics.holds(resource["Condition"]))
        ]

    def _property(self, id_: str, name: str, default: Any = None) -> Any:
        """Return one resolved property; the others are not resolved."""
        found = self.intrinsics.resolve(self._resources[id_].get("Properties", {}).get(name, default))
        return default if found is NO_VALUE else found

    def _name(self, id_: str) -> str:
        type_ = self._resources[id_]["Type"]
        given = self._property(id_, NAME_PROPERTIES[type_]) if type_ in NAME_PROPERTIES else None
        return str(given) if given else generated_name(id_, type_)

    def _ref(self, name: str) -> Any:
        if name in PSEUDO:
            return PSEUDO[name]
        id_, _, attribute = name.partition(".")
        if attribute == "Alias":  # SAM lets a template refer so to what it makes of AutoPublishAlias
            return f"{self._get_att(id_, 'Arn')}:{self._merged(id_)['AutoPublishAlias']}"
        if name not in self._resources:
            raise TemplateError(f"Ref {name}: the template has no parameter or resource of this name")
        if self._resources[id_]["Type"] == QUEUE:
            return QUEUE_URL + self._name(id_)
        return self._get_att(id_, "Arn") if self._resources[id_]["Type"] in REF_IS_ARN else self._name(id_)

    def _get_att(self, id_: str, attribute: str) -> str:
        if id_ not in self._resources:
            raise TemplateError(f"GetAtt {id_}.{attribute}: the template has no resource of this name")
        type_ = self._resources[id_]["Type"]
        found = arn(self._name(id_), type_)
        if attribute == "Arn" and found:
            return found
        if attribute == "StreamArn" and found:
            return f"{found}/stream/local"
        if attribute in {"Name", "QueueName"}:
            return self._name(id_)
        raise TemplateError(f"GetAtt {id_}.{attribute} of {type_} is not supported here")

    def _merged(self, id_: str) -> dict[str, Any]:
        """Return a function's properties merged over the template's globals."""
        return _merge(self._globals, self._resources[id_].get("Properties", {}))

    def _function(self, id_: str) -> Function:
        raw = self._merged(id_)

        def value(name: str, default: Any) -> Any:
            return self.intrinsics.resolve(raw.get(name, default))

        variables = value("Environment", {}).get("Variables", {})
        logging = value("LoggingConfig", {})
        layers = [self._folder / self._property(layer["Ref"], "ContentUri") for layer in raw.get("Layers", [])]
        return Function(
            id=id_,
            name=self._name(id_),
            handler=str(value("Handler", "")),
            code=self._folder / str(value("CodeUri", ".")),
            layers=tuple(layers),
            timeout_seconds=int(value("Timeout", LAMBDA_DEFAULT_TIMEOUT_SECONDS)),
            memory_mb=int(value("MemorySize", LAMBDA_DEFAULT_MEMORY_MB)),
            environment={name: text_of(variable) for name, variable in variables.items()},
            alias=value("AutoPublishAlias", None),
            snap_start=value("SnapStart", {}).get("ApplyOn") == "PublishedVersions",
            traced=value("Tracing", None) == "Active",
            log_format=str(logging.get("LogFormat", "Text")),
            log_level=str(logging.get("ApplicationLogLevel", "INFO")),
        )

    def _routes(self, functions: Iterable[Function]) -> Iterator[Route]:
        """Follow each route to its integration, and that to the function whose alias it invokes."""
        by_arn = {one.invoked_arn: one.id for one in functions}
        invoked = {
            f"integrations/{self._name(id_)}": by_arn[self._property(id_, "IntegrationUri")]
            for id_ in self._of_type("AWS::ApiGatewayV2::Integration")
        }
        for id_ in self._of_type("AWS::ApiGatewayV2::Route"):
            method, _, path = str(self._property(id_, "RouteKey")).rpartition(" ")
            yield Route(method or "ANY", path, invoked[self._property(id_, "Target")])

    def _streams(self, functions: Iterable[Function]) -> Iterator[StreamConsumer]:
        for id_ in self._of_type("AWS::Lambda::EventSourceMapping"):
            table = str(self._property(id_, "EventSourceArn")).split("/")[1]
            invoked = self._property(id_, "FunctionName")
            (function,) = (one.id for one in functions if one.invoked_arn == invoked)
            yield StreamConsumer(table, function, int(self._property(id_, "BatchSize")))

    def _table(self, id_: str) -> DeclaredTable:
        names = (
            "AttributeDefinitions",
            "KeySchema",
            "GlobalSecondaryIndexes",
            "LocalSecondaryIndexes",
            "BillingMode",
            "ProvisionedThroughput",
            "StreamSpecification",
        )
        definition = {name: found for name in names if (found := self._property(id_, name)) is not None}
        if "StreamSpecification" in definition:
            definition["StreamSpecification"]["StreamEnabled"] = True
        sealed = self._property(id_, "SSESpecification", {})
        if sealed:
            definition["SSESpecification"] = {"Enabled": sealed.pop("SSEEnabled"), **sealed}
        expires = self._property(id_, "TimeToLiveSpecification", {})
        recovers = self._property(id_, "PointInTimeRecoverySpecification", {})
        return DeclaredTable(
            id_,
            self._name(id_),
            definition,
            ttl_attribute=expires["AttributeName"] if expires.get("Enabled") else None,
            point_in_time_recovery=bool(recovers.get("PointInTimeRecoveryEnabled")),
        )

    def _bucket(self, id_: str) -> Bucket:
        versioning = self._property(id_, "VersioningConfiguration", {})
        return Bucket(
            id_,
            self._name(id_),
            versioned=versioning.get("Status") == "Enabled",
            public_access_block=self._property(id_, "PublicAccessBlockConfiguration"),
            encryption=_encryption(self._property(id_, "BucketEncryption")),
            expirations={
                rule.get("Prefix", ""): int(rule["ExpirationInDays"])
                for rule in self._property(id_, "LifecycleConfiguration", {}).get("Rules", [])
                if rule["Status"] == "Enabled" and "ExpirationInDays" in rule
            },
        )

    def _key(self, id_: str) -> Key:
        return Key(
            id_,
            self._name(id_),
            str(self._property(id_, "Description", "")),
            rotation_days=self._property(id_, "EnableKeyRotation", False)
            and int(self._property(id_, "RotationPeriodInDays", 365)),
            policy=self._property(id_, "KeyPolicy"),
            usage=str(self._property(id_, "KeyUsage", "ENCRYPT_DECRYPT")),
            spec=str(self._property(id_, "KeySpec", "SYMMETRIC_DEFAULT")),
        )

    def _machine(self, id_: str) -> DeclaredMachine:
        type_: Literal["STANDARD", "EXPRESS"] = "EXPRESS" if self._property(id_, "Type") == "EXPRESS" else "STANDARD"
        definition = self._property(id_, "Definition")
        if not isinstance(definition, dict):
            raise TemplateError(f"{id_}: only an inline Definition can be read here")
        return DeclaredMachine(id_, self._name(id_), type_, definition, str(self._property(id_, "Role", "")))

    def _events(self, type_: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the events of a type that invoke functions, with the functions' ids."""
        for function in self._of_type(FUNCTION):
            events = self._property(function, "Events", {}).values()
            yield from ((function, event) for event in events if event["Type"] == type_)

    def _queue(self, id_: str) -> Queue:
        redrive = self._property(id_, "RedrivePolicy", {})
        sources = (
            (event["Properties"]["BatchSize"], function)
            for function, event in self._events("SQS")
            if event["Properties"]["Queue"] == self._get_att(id_, "Arn")
        )
        size, consumer = next(sources, (1, ""))
        dead_letters = str(redrive.get("deadLetterTargetArn", "")).rpartition(":")[2]
        return Queue(self._name(id_), dead_letters, int(redrive.get("maxReceiveCount", 0)), consumer, size)


def _encryption(written: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Translate a bucket's encryption from CloudFormation's names to those of S3's API."""
    if written is None:
        return None
    renamed = {"ServerSideEncryptionByDefault": "ApplyServerSideEncryptionByDefault"}
    rules = written["ServerSideEncryptionConfiguration"]
    return {"Rules": [{renamed.get(name, name): value for name, value in rule.items()} for rule in rules]}


def parameter_values(declared: dict[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each declared parameter; TemplateError for one that CloudFormation would refuse."""
    if unknown := sorted(set(given) - set(declared)):
        raise TemplateError(f"the template has no parameter {', '.join(unknown)}")
    missing = sorted(name for name, spec in declared.items() if name not in given and "Default" not in spec)
    if missing:
        raise TemplateError(f"the template needs a value for {', '.join(missing)}")
    values = {name: text_of(given.get(name, spec.get("Default"))) for name, spec in declared.items()}
    for name, value in values.items():
        if not _is_accepted(value, declared[name]):
            reason = declared[name].get("ConstraintDescription", "")
            raise TemplateError(f"{name} may not be {value!r}" + (f": it {reason}" if reason else ""))
    return values


def check_rules(rules: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
    """Raise TemplateError for an assertion that these values violate; a rule knows only parameters."""
    intrinsics = Intrinsics(parameters, {}, ref=str, get_att=lambda *_: "")
    for rule in rules.values():
        for assertion in rule["Assertions"]:
            if not intrinsics.test(assertion["Assert"]):
                raise TemplateError(assertion["AssertDescription"])


def _is_accepted(value: str, spec: dict[str, Any]) -> bool:
    if "AllowedValues" in spec and value not in map(text_of, spec["AllowedValues"]):
        return False
    if spec["Type"] == "Number":
        number = float(value) if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value) else math.nan
        return float(spec.get("MinValue", "-inf")) <= number <= float(spec.get("MaxValue", "inf"))
    return "AllowedPattern" not in spec or re.fullmatch(spec["AllowedPattern"], value) is not None


def text_of(value: Any) -> str:
    """Return a scalar, or a list of them, as CloudFormation writes it."""
    if isinstance(value, list):
        return ",".join(map(text_of, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _merge(base: dict[str, Any], override: dict[str, Any]) -> dict[str, Any]:
    """Merge as SAM merges Globals: maps are merged, lists joined, scalars replaced."""
    merged = dict(base)
    for name, value in override.items():
        under = merged.get(name)
        if _is_map(under) and _is_map(value):
            merged[name] = _merge(under, value)
        elif isinstance(under, list) and isinstance(value, list):
            merged[name] = [*under, *value]
        else:
            merged[name] = value
    return merged


def _is_map(value: Any) -> TypeGuard[dict[str, Any]]:
    # The map with which an intrinsic function is written is one value: merged, it would be two functions.
    return isinstance(value, dict) and not (len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::")))
