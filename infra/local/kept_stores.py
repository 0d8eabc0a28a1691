"""moto's stores with a memory: what changes in DynamoDB, S3, SSM and KMS is recorded, and loaded at the next start.

A record holds an item, an object or a parameter as AWS's API shows it, and no class of moto's, so that another version
of moto can load it. Of an object the current version is recorded. Machines are created again when they are needed.
"""

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET  # nosec B405

from moto.core.utils import utcnow
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.s3.models import FakeKey, s3_backends
from moto.ssm.models import Parameter, ssm_backends

from infra.local.dynamodb import base64_text, load_item, with_bytes
from infra.local.names import ACCOUNT, REGION
from infra.local.server import App, LoopbackRequest, LoopbackResponse
from infra.local.state import State, StateUnwritable
from infra.local.template import Bucket, DeclaredTable

ITEMS, OBJECTS, PARAMETERS = "dynamodb", "s3", "ssm"
_OBJECT_FIELDS = ("checksum_algorithm", "checksum_value", "checksum_type")


class KeptStores:
    """moto as an App, whose successful changes are in the state before the response is sent."""

    def __init__(self, moto: App, state: State) -> None:
        self._moto = moto
        self._state = state
        # An object's record must be the newest, whichever of two concurrent requests writes it last.
        self._objects = threading.Lock()

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        """Forward an AWS request, and record what it changed, or say that this cannot be stored."""
        response = self._moto(request)
        try:
            self._record(request, response)
        except StateUnwritable as error:
            sys.stderr.write(f"{error}\n")
            return LoopbackResponse(500)
        return response

    def _record(self, request: LoopbackRequest, response: LoopbackResponse) -> None:
        if response.status < 300:
            service, _, operation = request.headers.get("x-amz-target", "").partition(".")
            if service.startswith("DynamoDB_"):
                self._state.put_all(ITEMS, _changed_items(operation, json.loads(request.body)))
            elif service == "AmazonSSM":
                self._state.put_all(PARAMETERS, _changed_parameters(operation, json.loads(request.body)))
            elif not service and request.method in {"PUT", "POST", "DELETE"}:
                with self._objects:
                    self._state.put_all(OBJECTS, [(name, _object_record(name)) for name in _changed_objects(request)])


def load_stores(state: State, tables: Iterable[DeclaredTable], buckets: Iterable[Bucket]) -> None:
    """Put the recorded items, objects and parameters into moto, but those that have expired.

    Records of tables and buckets that the template does not have stay in the state.
    """
    state.put_all(ITEMS, _load_items(state, {table.name: table for table in tables}))
    state.put_all(OBJECTS, _load_objects(state, {bucket.name: bucket for bucket in buckets}))
    for name, record in state.all(PARAMETERS):
        _load_parameter(name, json.loads(record))


# -- DynamoDB ---------------------------------------------------------------------------------------------


def _changed_items(operation: str, body: dict[str, Any]) -> Iterator[tuple[str, bytes | None]]:
    for table_name, key in _written_keys(operation, body):
        table = dynamodb_backends[ACCOUNT][REGION].tables[table_name]
        typed = [DynamoType(key[name]) for name in table.table_key_attrs]
        item = table.get_item(typed[0], typed[1] if table.has_range_key else None)
        name = json.dumps([table_name, *(key[name] for name in table.table_key_attrs)], ensure_ascii=False)
        fields = item.to_json()["Attributes"] if item else {}
        yield name, json.dumps(fields, default=base64_text, ensure_ascii=False).encode() if item else None


def _written_keys(operation: str, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the table and the key of each item that a request writes; an item holds its key."""
    match operation:
        case "PutItem" | "UpdateItem" | "DeleteItem":
            yield body["TableName"], body.get("Item") or body["Key"]
        case "BatchWriteItem":
            for table, requests in body["RequestItems"].items():
                for request in requests:
                    (write,) = request.values()
                    yield table, write.get("Item") or write["Key"]
        case "TransactWriteItems":
            for action in body["TransactItems"]:
                (write,) = action.values()
                yield write["TableName"], write.get("Item") or write["Key"]


def _load_items(state: State, tables: Mapping[str, DeclaredTable]) -> Iterator[tuple[str, None]]:
    """Load the items of these tables; yield the names of those that have expired."""
    now = time.time()
    for name, record in state.all(ITEMS):
        declared, attributes = tables.get(json.loads(name)[0]), json.loads(record, object_hook=with_bytes)
        if declared is None:
            continue
        expires = attributes.get(declared.ttl_attribute, {}).get("N")
        if expires is not None and float(expires) < now:
            yield name, None
            continue
        table = dynamodb_backends[ACCOUNT][REGION].tables[declared.name]
        if all(key in attributes for key in table.table_key_attrs):
            load_item(table, attributes)


# -- S3 ---------------------------------------------------------------------------------------------------


def _changed_objects(request: LoopbackRequest) -> Iterator[str]:
    """Yield the names, `bucket/key`, of the objects that a request may have changed."""
    bucket, _, key = unquote(request.path).removeprefix("/").partition("/")
    if key:
        yield f"{bucket}/{key}"
    elif request.query.startswith("delete"):
        for element in ET.fromstring(request.body).iter():  # noqa: S314 - moto has parsed it  # nosec B314
            if element.tag.endswith("Key"):
                yield f"{bucket}/{element.text}"


def _object_record(name: str) -> bytes | None:
    """Return an object's facts as one line of JSON, and its content after it."""
    bucket, _, key = name.partition("/")
    stored = s3_backends[ACCOUNT]["aws"].get_object(bucket, key)
    if stored is None:
        return None
    facts = {
        "etag": stored.etag.strip('"'),
        "last_modified": stored.last_modified.isoformat(),
        "metadata": dict(stored.metadata),
        **{field: getattr(stored, field) for field in _OBJECT_FIELDS},
    }
    return json.dumps(facts, default=bytes.decode).encode() + b"\n" + stored.value


def _load_objects(state: State, buckets: Mapping[str, Bucket]) -> Iterator[tuple[str, None]]:
    """Load the objects of these buckets; yield the names of those that have expired."""
    for name, record in state.all(OBJECTS):
        bucket, _, key = name.partition("/")
        if bucket not in buckets:
            continue
        head, _, content = record.partition(b"\n")
        facts = json.loads(head)
        days = buckets[bucket].expiration_days(key)
        if days and datetime.fromisoformat(facts["last_modified"]) + timedelta(days) < utcnow():
            yield name, None
        else:
            _load_object(bucket, key, content, facts)


def _load_object(bucket: str, key: str, content: bytes, facts: dict[str, Any]) -> None:
    stored: FakeKey = s3_backends[ACCOUNT]["aws"].put_object(bucket, key, content, etag=facts["etag"])
    stored.last_modified = datetime.fromisoformat(facts["last_modified"])
    stored.set_metadata(facts["metadata"])
    for field in _OBJECT_FIELDS:
        setattr(stored, field, facts[field])


# -- SSM --------------------------------------------------------------------------------------------------


def _changed_parameters(operation: str, body: dict[str, Any]) -> Iterator[tuple[str, bytes | None]]:
    names = {"PutParameter": [body.get("Name")], "DeleteParameter": [body.get("Name")]}
    for name in names.get(operation, body.get("Names", []) if operation == "DeleteParameters" else []):
        yield str(name), _parameter_record(str(name))


def _parameter_record(name: str) -> bytes | None:
    versions = ssm_backends[ACCOUNT][REGION]._parameters.get(name)  # noqa: SLF001
    if not versions:
        return None
    newest = versions[-1]
    fields = ("parameter_type", "description", "allowed_pattern", "keyid", "version", "data_type", "tier", "policies")
    record = {field: getattr(newest, field) for field in fields}
    record |= {"value": newest.decrypt(newest.value), "last_modified_date": newest.last_modified_date.isoformat()}
    return json.dumps(record).encode()


def _load_parameter(name: str, record: dict[str, Any]) -> None:
    changed = datetime.fromisoformat(record.pop("last_modified_date"))
    kind: Any = Parameter  # mypy takes it for an abstract class
    loaded = kind(account_id=ACCOUNT, name=name, last_modified_date=changed, **record)
    ssm_backends[ACCOUNT][REGION]._parameters[name] = [loaded]  # noqa: SLF001
