"""Definitions of registered modules: JSON in the files bucket, found by its hash, which is checked on every read.

The directory's item of a module names the hash, so a definition never changes: an overwritten module has another one.
"""

import hashlib
import json
import math
from collections.abc import Callable
from typing import Any

from mcpist.aws.attributes import json_bytes
from mcpist.aws.clients import client, store_errors
from mcpist.caller import Caller, RegisteredModule
from mcpist.errors import FileNotFound, IntegrityError, McpistError, PayloadTooLarge
from mcpist.files import storage
from mcpist.memory import Memory
from mcpist.settings import settings
from mcpist.tools.declare.module import ModuleKind

MAX_MODULE_DEFINITION_BYTES = 5_000_000
MAX_CACHED_DEFINITIONS = 100

type Definition = dict[str, Any]

_cache: Memory[tuple[str, str], Definition] = Memory(math.inf, MAX_CACHED_DEFINITIONS)


def hash_of(definition: Definition) -> str:
    """Return the hash of a definition; PayloadTooLarge over the limit."""
    content = json_bytes(definition)
    if len(content) > MAX_MODULE_DEFINITION_BYTES:
        raise PayloadTooLarge(size_bytes=len(content), limit_bytes=MAX_MODULE_DEFINITION_BYTES)
    return hashlib.sha256(content).hexdigest()


def store(organization: str, definition: Definition) -> str:
    """Store a definition and return its hash."""
    content, digest = json_bytes(definition), hash_of(definition)
    with store_errors("modules"):
        bucket, key = settings().files_bucket, _key(organization, digest)
        client("s3").put_object(Bucket=bucket, Key=key, Body=content, ContentType="application/json")
    return digest


def load(organization: str, digest: str) -> Definition:
    """Return a definition, from memory where this sandbox has read it; IntegrityError if it is not what was stored."""
    return _cache.get_or_make((organization, digest), lambda: _read(organization, digest))


def of_caller[Value](
    caller: Caller, kind: ModuleKind, read: Callable[[RegisteredModule], Value]
) -> tuple[dict[str, Value], dict[str, McpistError]]:
    """Read the registered modules of a kind that a role of the caller has; of the others return why they cannot be."""
    held = {name for role in caller.roles for name in role.modules}
    found: dict[str, Value] = {}
    failures: dict[str, McpistError] = {}
    for module in caller.modules:
        if module.kind == kind and module.name in held:
            try:
                found[module.name] = read(module)
            except McpistError as error:  # the others still answer
                failures[module.name] = error
    return found, failures


def _read(organization: str, digest: str) -> Definition:
    try:
        content = storage.load(_key(organization, digest), digest)
    except FileNotFound as error:
        raise IntegrityError(what=f"the file {error.details['path']}") from None
    definition: Definition = json.loads(content)
    return definition


def _key(organization: str, digest: str) -> str:
    return f"modules/{organization}/{digest}"
