"""moto's server as a function from a request to a response: DynamoDB, KMS, S3, SSM and Step Functions, in this process.

Importing this module takes seconds of CPU: import it late.
"""

import importlib
import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any

import moto
from cryptography.hazmat.primitives import serialization
from moto.core.config import default_user_config
from moto.kms.models import kms_backends
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.test import run_wsgi_app

from infra.local import dynamodb
from infra.local.dynamodb import ItemRequests
from infra.local.names import ACCOUNT, REGION
from infra.local.server import App, LoopbackRequest, LoopbackResponse
from infra.local.template import Bucket, DeclaredTable, Key

_running = threading.Lock()


@contextmanager
def running_moto(invoke: App, steps_at_once: float = inf) -> Iterator["Moto"]:
    """Run moto with Step Functions that execute machines, whose Tasks send their Invoke requests to `invoke`."""
    if not _running.acquire(blocking=False):
        raise RuntimeError("an embedded AWS already runs in this process, and moto has one state for all of it")
    before = default_user_config["stepfunctions"]
    default_user_config["stepfunctions"] = {"execute_state_machine": True}
    try:
        _import_without("moto.stepfunctions.parser.models", without="moto.batch")
        _import_without("moto.ssm.models", without="moto.ec2", ec2_backends=None)  # which would find instances by tags
        dynamodb.install()
        # It logs each path that a Choice does not find as an error.
        logging.getLogger("moto.stepfunctions.parser.asl.component.eval_component").setLevel(logging.CRITICAL)
        from infra.local import step_functions  # the parser takes a second to import

        step_functions.install()
        with step_functions.tasks_invoking(invoke, steps_at_once):
            yield Moto()
    finally:
        _stop_executions()
        moto_api_backend.reset()
        default_user_config["stepfunctions"] = before
        _running.release()


def _import_without(wanted: str, without: str, **names: Any) -> None:
    """Import a part of moto without another part that it hardly uses and that takes a second to import."""
    if without in sys.modules:
        return
    package = ModuleType(without)
    package.__path__ = [str(Path(folder) / without.removeprefix("moto.")) for folder in moto.__path__]
    vars(package).update(names)
    sys.modules[without] = package
    try:
        importlib.import_module(wanted)
    finally:
        for name in [name for name in sys.modules if name == without or name.startswith(f"{without}.")]:
            del sys.modules[name]


def _stop_executions() -> None:
    """Stop running machines; their threads would otherwise call the next run's functions."""
    from moto.stepfunctions.parser.models import stepfunctions_parser_backends

    machines: Any = stepfunctions_parser_backends[ACCOUNT][REGION].state_machines
    for execution in [execution for machine in machines for execution in list(machine.executions)]:
        if execution.exec_status == "RUNNING" and execution.exec_worker.env is not None:
            execution.stop(datetime.now(UTC), None, "the embedded AWS ended")


class Moto:
    """moto's dispatcher."""

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._items = ItemRequests(self.by_front)

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        """Forward an AWS request and return the response."""
        return (self._items if "DynamoDB" in request.headers.get("x-amz-target", "") else self.by_front)(request)

    def by_front(self, request: LoopbackRequest) -> LoopbackResponse:
        """Forward an AWS request to the front of moto's server."""
        content, status, headers = run_wsgi_app(self._app, request.environ, buffered=True)
        return LoopbackResponse(int(status.split(" ", 1)[0]), tuple(headers.items()), b"".join(content))

    def create_key(self, key: Key, material: bytes | None = None) -> bytes:
        """Create a KMS key with a given id, which AWS's API would choose; return its material, or take it over."""
        backend = kms_backends[ACCOUNT][REGION]
        policy = None if key.policy is None else json.dumps(key.policy)
        made = backend.create_key(policy, key.usage, key.spec, key.description, None)
        del backend.keys[made.id]
        made.id = key.key_id
        made.arn = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{key.key_id}"
        made.key_rotation_status = bool(key.rotation_days)
        backend.keys[made.id] = made
        if key.signs:
            return _signing_material(made.private_key, material)
        made.key_material = material or made.key_material
        return bytes(made.key_material)


def _signing_material(pair: Any, material: bytes | None) -> bytes:
    """Return the private key of a pair, or let the pair take it over."""
    if material:
        pair.private_key = serialization.load_der_private_key(material, None)
    form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return bytes(pair.private_key.private_bytes(*form))


def create_table(dynamodb: Any, table: DeclaredTable) -> None:
    """Create a table with what the template says of it."""
    dynamodb.create_table(TableName=table.name, **table.definition)
    if table.ttl_attribute:
        specification = {"AttributeName": table.ttl_attribute, "Enabled": True}
        dynamodb.update_time_to_live(TableName=table.name, TimeToLiveSpecification=specification)
    if table.point_in_time_recovery:
        specification = {"PointInTimeRecoveryEnabled": True}
        dynamodb.update_continuous_backups(TableName=table.name, PointInTimeRecoverySpecification=specification)


def create_bucket(s3: Any, bucket: Bucket) -> None:
    """Create a bucket with what the template says of it."""
    s3.create_bucket(Bucket=bucket.name)
    if bucket.versioned:
        s3.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration={"Status": "Enabled"})
    if bucket.public_access_block:
        s3.put_public_access_block(Bucket=bucket.name, PublicAccessBlockConfiguration=bucket.public_access_block)
    if bucket.encryption:
        s3.put_bucket_encryption(Bucket=bucket.name, ServerSideEncryptionConfiguration=bucket.encryption)
