"""The embedded AWS: the stack of template.yaml on one loopback port, until the context ends."""

import json
import sys
import threading
from collections.abc import Collection, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Self

import jwt

from infra.local.fair_queue import ApiTurns
from infra.local.http_api import HttpApi
from infra.local.invocation import AccountLimit, Sandbox
from infra.local.lambda_api import LambdaApi
from infra.local.names import EXPORT_BUCKET, REGION
from infra.local.pool import Pool
from infra.local.router import KeyHolder, Keyring, RequestRouter
from infra.local.sandbox import RunContext, ZygoteProcess
from infra.local.server import LoopbackServer, listen, listen_beside
from infra.local.state import State
from infra.local.template import Function, Template, read_template

# More than the requests of one organization, so that another one finds a sandbox.
MAX_SANDBOXES = 16
MAX_STEP_SANDBOXES = 20
MAX_QUEUED = 100
# A short request waits so long for each thread that parses or interprets a wide machine; Python's own value is 5 ms.
SWITCH_SECONDS = 0.0005
# Two cores run them, the embedded AWS, and what other organizations do.
MAX_STEPS_PER_ORGANIZATION = 8


@dataclass(frozen=True, kw_only=True)
class StackOptions:
    """The choices for a stack."""

    root: Path
    """The folder of the template, the functions and the layers."""
    host: str = "127.0.0.1"
    port: int = 0
    """The port; 0 for a free one."""
    bridge: str = ""
    """The address at which containers reach this machine, on the same port."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The template's parameters, in whose values `{api_url}` becomes the address."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Is added to the environment of each function."""
    only: Collection[str] | None = None
    """The ids of the functions that are started; None for all."""
    concurrency: int = 0
    """How many events all functions together run at once, as in an account; 0 for no such limit."""
    state: State | None = None
    """Keeps what is stored for the next start; without one nothing outlives the context."""
    audit_export: Path | None = None
    """The folder that new audit rows are delivered to, in the place of a bucket; None delivers none."""
    logs: Path | None = None
    """The folder of the functions' logs; by default one in `root`."""


class EmbeddedAws:
    """AWS on one machine, for one stack.

    With a limit of concurrency more events are throttled; without it each function queues what its sandboxes cannot
    take, and the API serves its clients in turns. Entering raises `PortInUse`, `TemplateError` or `HandlerImportError`.
    """

    def __init__(self, options: StackOptions) -> None:
        self._options = options
        self._root = options.root.resolve()
        self.logs = options.logs or self._root / ".mcpist/logs"
        self._account = AccountLimit(options.concurrency) if options.concurrency else None
        self._keyring = Keyring()
        self._sandboxes: dict[str, tuple[Sandbox, Pool]] = {}
        self._zygotes: dict[str, ZygoteProcess] = {}
        self._exit = ExitStack()
        self.router = RequestRouter(self._keyring, self._sandboxes)
        self._access_key = self._keyring.issue(KeyHolder("client"))
        self._session: Any = None
        self._session_lock = threading.Lock()
        self._context: RunContext | None = None
        self.template: Template
        self.functions: dict[str, Pool] = {}
        self.api_url = ""
        """The URL of the HTTP API, and of AWS."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(sys.setswitchinterval, sys.getswitchinterval())
            sys.setswitchinterval(SWITCH_SECONDS)
            self._open(stack)
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which another process reaches this AWS by boto3."""
        return {
            "AWS_ENDPOINT_URL": self.api_url,
            "AWS_ACCESS_KEY_ID": self._access_key,
            "AWS_SECRET_ACCESS_KEY": self._access_key,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def resource(self, logical_id: str) -> str:
        """Return the value of `Ref` for a resource, e.g. `Ledger` or `StepRunnerFunction.Alias`."""
        return str(self.template.intrinsics.resolve({"Ref": logical_id}))

    def client(self, service: str) -> Any:
        """Return a boto3 client of this AWS."""
        import boto3

        with self._session_lock:
            self._session = self._session or boto3.session.Session(
                self._access_key, self._access_key, region_name=REGION
            )
            return self._session.client(service, endpoint_url=self.api_url)

    def kill(self, sandbox_id: str) -> None:
        """End a sandbox with SIGKILL and wait for its end."""
        sandbox, pool = self._sandboxes[sandbox_id]
        self._zygotes[pool.function.id].kill(sandbox)

    def deploy(self, root: Path, *functions: str) -> None:
        """Let the alias of these functions point at a version with the code and the layers of another folder."""
        assert self._context is not None
        template = read_template(root / "template.yaml", self._template_parameters())
        for function in template.functions:
            if function.id in functions:
                zygote = ZygoteProcess(
                    function, self._context, self._options.environment, replaces=self._zygotes[function.id]
                )
                self._exit.callback(zygote.close)
                zygote.pool = self.functions[function.id]
                zygote.wait_until_ready()
                zygote.pool.replace(function, zygote)
                self._zygotes[function.id] = zygote

    @property
    def _steps_at_once(self) -> float:
        """The steps of an organization that run at once, where there are limits of what is in flight."""
        limited = self.template.intrinsics.parameters.get("UserConcurrency", "0") != "0"
        return MAX_STEPS_PER_ORGANIZATION if limited and self._account is None else inf

    def _template_parameters(self) -> dict[str, str]:
        export = {"AuditExport": EXPORT_BUCKET} if self._options.audit_export else {}
        return {
            name: value.replace("{api_url}", self.api_url)
            for name, value in {**self._options.parameters, **export}.items()
        }

    def _open(self, stack: ExitStack) -> None:
        options = self._options
        listener = stack.enter_context(closing(listen(options.host, options.port)))
        reachable_host = "127.0.0.1" if options.host == "0.0.0.0" else options.host  # noqa: S104 - a comparison  # nosec B104
        address = f"{reachable_host}:{listener.getsockname()[1]}"
        self.api_url = f"http://{address}"
        self.template = read_template(self._root / "template.yaml", self._template_parameters())
        # Served from now on: a handler that asks for its credentials on import must find them.
        bridge = [listen(options.bridge, listener.getsockname()[1])] if options.bridge else []
        for one in (listener, *listen_beside(listener), *bridge):
            stack.enter_context(LoopbackServer(one, self.router))
        secret = f"{address}/{self.router.secret}"
        context = self._context = RunContext(self.api_url, secret, self.logs, self._keyring, self._sandboxes)
        # The handlers are imported in their own processes while this process imports moto.
        for function in self.template.functions:
            if options.only is None or function.id in options.only:
                self._start(function, context, stack)
        from infra.local.moto_backend import running_moto

        moto = self.router.moto = stack.enter_context(running_moto(self.router.invoke_by_machine, self._steps_at_once))
        self.router.lambda_api = LambdaApi(self.functions)
        self._create_keys(moto)
        self._create_stores()
        if options.state:
            from infra.local.kept_stores import KeptStores, load_stores

            load_stores(options.state, self.template.tables, self.template.buckets)
            self.router.moto = KeptStores(moto, options.state)
        for zygote in self._zygotes.values():
            zygote.wait_until_ready()
        from infra.local.pollers import ExportFolder, running_pollers

        if options.audit_export:
            self.router.moto = ExportFolder(self.router.moto, options.audit_export)
        stack.enter_context(running_pollers(self.template, self.functions))
        turns = ApiTurns(self._organization_of) if self._account is None else None
        self.router.http_api = HttpApi(self.template.routes, self.functions, domain=reachable_host, turns=turns)

    def _organization_of(self, sender: str) -> str:
        """Return the organization of a token or source that a function has verified; empty for a stranger's."""
        scheme, _, token = sender.partition(" ")
        if not token:
            # Apart from those of its people, whose slow calls must not let a vendor wait.
            return f"hooks#{scheme.rpartition('.')[0]}"
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
            key = {"S": f"subject#{claims.get('idp', claims['iss'])}#{claims['sub']}"}
        except (jwt.PyJWTError, KeyError):
            return ""
        found = self.client("dynamodb").query(
            TableName=self.resource("Directory"),
            KeyConditionExpression="pk = :pk AND begins_with(sk, :org)",
            ExpressionAttributeValues={":pk": key, ":org": {"S": "org#"}},
        )
        return min((item["sk"]["S"] for item in found["Items"]), default="")

    def _start(self, function: Function, context: RunContext, stack: ExitStack) -> None:
        zygote = ZygoteProcess(function, context, self._options.environment)
        stack.callback(zygote.close)
        most = MAX_STEP_SANDBOXES if function.id == "StepRunnerFunction" else MAX_SANDBOXES
        pool = Pool(function, zygote, max_sandboxes=most, max_queued=MAX_QUEUED, account=self._account)
        stack.callback(pool.close)
        zygote.pool = pool
        self._zygotes[function.id] = zygote
        self.functions[function.id] = pool

    def _create_keys(self, moto: Any) -> None:
        """Create the template's keys, with the material that they had before."""
        state = self._options.state
        for key in self.template.keys:
            material = moto.create_key(key, state.get("kms", key.key_id) if state else None)
            if state:
                state.put("kms", key.key_id, material)

    def _create_stores(self) -> None:
        """Create the template's tables, buckets and machines."""
        from infra.local.moto_backend import create_bucket, create_table

        states = self.client("stepfunctions")
        for table in self.template.tables:
            create_table(self.client("dynamodb"), table)
        for bucket in self.template.buckets:
            create_bucket(self.client("s3"), bucket)
        for machine in self.template.machines:
            states.create_state_machine(
                name=machine.name, type=machine.type, roleArn=machine.role, definition=json.dumps(machine.definition)
            )
