"""AWS mocked in this process: what is the same for each test is made once, and its stores are put back for each."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Self
from urllib.parse import urlsplit

import boto3
import moto.core.models
import moto.core.responses
import moto.dynamodb.parsing.validators
import moto.sqs.models
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.loaders import create_loader
from botocore.session import Session
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber, MockRawResponse
from moto.core.utils import camelcase_to_underscores
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.utilities import bytesize
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Node
from moto.dynamodb.parsing.validators import ActionCountValidator
from moto.kms.models import kms_backends
from moto.s3.models import s3_backends
from moto.sqs.models import Queue, sqs_backends

from infra.local import dynamodb, pollers
from infra.local.dynamodb import ItemRequests
from infra.local.names import ACCOUNT, REGION
from infra.local.server import LoopbackRequest, LoopbackResponse
from mcpist.aws import clients
from mcpist.aws.botocore_loader import JsonFileLoader
from mcpist.memory import forget_all
from tests.kept_clients import keep_clients

# It keeps the services' descriptions, which take a second to read.
LOADER = create_loader()
_LOADER_PATHS = tuple(LOADER.search_paths)
read_file = JsonFileLoader.load_file
"""Reads a file as the product does. In the tests each is read once, although botocore adds to what was read."""
MAX_ITEM_BYTES = 405_000  # moto's
DYNAMODB_HOST = f"dynamodb.{REGION}.amazonaws.com"
BY_MOTO = LoopbackResponse(0)
items = ItemRequests(lambda _request: BY_MOTO)
_answer_by_moto: Any = BotocoreStubber.__call__


def install() -> None:
    """Let moto and botocore spare work in this process that makes no difference to a test."""
    dynamodb.install()
    pollers.install()
    BotocoreStubber.__call__ = answer  # type: ignore[assignment, method-assign]
    # No test uses AWS through `requests`, for which moto would write down a thousand addresses each time.
    moto.core.models.RESPONSES_METHODS.clear()
    # Each of ten walks through an expression asked for each node what the walk looks for, and one of them counted all
    # clauses anew at each: half of the CPU of an update.
    DepthFirstTraverser.nodes_to_be_processed = nodes_to_be_processed
    ActionCountValidator.traverse = ActionCountValidator.verify_action_counts
    # Four of the five milliseconds of making a queue again.
    for module in (moto.core.responses, moto.sqs.models):
        module.camelcase_to_underscores = cache(camelcase_to_underscores)  # type: ignore[attr-defined]
    moto.dynamodb.parsing.validators.deepcopy = copy_tree  # type: ignore[attr-defined]
    Item.__init__ = make_item  # type: ignore[method-assign]
    # A sandbox reads the services' descriptions once; in this process a new one begins with each test.
    read = cache(partial(read_file, JsonFileLoader()))
    JsonFileLoader.load_file = lambda _, path: read(path)  # type: ignore[method-assign]
    register = Session._register_builtin_handlers

    @cache
    def builtin() -> Any:
        session = Session(include_builtin_handlers=False)
        register(session, session._events)
        return session._original_handler

    # Looking into the signature of each of a hundred handlers takes 7 ms of CPU a session.
    def copy_builtin_handlers(session: Any, _events: Any) -> None:
        session._original_handler.__dict__ = copy.copy(builtin()).__dict__

    Session._register_builtin_handlers = copy_builtin_handlers


def nodes_to_be_processed(traverser: Any) -> tuple[type, ...]:
    if "kinds" not in traverser.__dict__:
        traverser.kinds = tuple(traverser._processing_map())
    return traverser.kinds  # type: ignore[no-any-return]


def copy_tree(value: Any) -> Any:
    """Copy what an expression says, or another value, without asking of each part whether it was copied before."""
    if not isinstance(value, Node):
        return copy.deepcopy(value)
    copied: Any = copy.copy(value)
    copied.children = value.children and [copy_tree(child) for child in value.children]  # type: ignore[no-untyped-call]
    for child in copied.children or ():
        if isinstance(child, Node):
            child.set_parent(copied)  # type: ignore[no-untyped-call]
    return copied


def make_item(item: Any, hash_key: DynamoType, range_key: DynamoType | None, attrs: dict[str, Any]) -> None:
    """Make an item and measure it once, which moto does again for each of its attributes."""
    typed = {name: DynamoType(value) for name, value in attrs.items()}
    if sum(bytesize(name) + value.size() for name, value in typed.items()) > MAX_ITEM_BYTES:
        raise ItemSizeTooLarge
    item.hash_key, item.range_key, item.attrs = hash_key, range_key, LimitedSizeDict(typed)


def answer(stubber: BotocoreStubber, event_name: str, request: AWSPreparedRequest, **options: Any) -> Any:
    """Answer a request about items as a local deployment does, which takes half of moto's CPU; moto answers others."""
    target = request.headers.get("X-Amz-Target", "")
    target = target.decode() if isinstance(target, bytes) else target
    if not (stubber.enabled and target.startswith("DynamoDB_") and urlsplit(request.url).hostname == DYNAMODB_HOST):
        return _answer_by_moto(stubber, event_name, request, **options)
    with items.turn:  # else two threads whose first attempts were refused could both find that an item does not exist
        found = items(LoopbackRequest({}, {"x-amz-target": target}, request.body))  # type: ignore[arg-type]
        if found is BY_MOTO:
            return _answer_by_moto(stubber, event_name, request, **options)
    return AWSResponse(request.url, found.status, dict(found.headers), MockRawResponse(found.body))  # type: ignore[arg-type]


@contextmanager
def mocked_aws() -> Iterator[list[str]]:
    """An AWS without anything in it, for a sandbox that is new; the operations that are sent to it."""
    sent: list[str] = []
    with mock_aws():
        forget_all()
        session = clients.session()
        LOADER.search_paths[:] = _LOADER_PATHS  # each session of boto3 adds its own folder
        session.register_component("data_loader", LOADER)
        boto3.setup_default_session(botocore_session=session)
        boto3.DEFAULT_SESSION.client = cache(boto3.DEFAULT_SESSION.client)  # tests ask for the same again
        keep_clients(session, LOADER)
        session.register("choose-signer.dynamodb", lambda **_: UNSIGNED)  # nobody here would read the signature
        session.register("request-created", lambda operation_name, **_: sent.append(operation_name))
        yield sent
    boto3.DEFAULT_SESSION = None
    forget_all()


@dataclass(frozen=True)
class MotoStores:
    """Tables with their items, buckets with their files, keys, and the names of queues, at one moment."""

    tables: dict[str, Any]
    buckets: dict[str, Any]
    keys: dict[str, Any]
    queues: tuple[str, ...]

    @classmethod
    def now(cls) -> Self:
        """Copy them as they are."""
        return cls(
            copy.deepcopy(dynamodb_backends[ACCOUNT][REGION].tables),
            copy.deepcopy(s3_backends[ACCOUNT]["aws"].buckets),
            dict(kms_backends[ACCOUNT][REGION].keys),
            tuple(sqs_backends[ACCOUNT][REGION].queues),
        )

    def put_back(self) -> None:
        """Make them again what they were."""
        dynamodb_backends[ACCOUNT][REGION].tables = copy.deepcopy(self.tables)
        s3_backends[ACCOUNT]["aws"].buckets = copy.deepcopy(self.buckets)
        kms_backends[ACCOUNT][REGION].keys = dict(self.keys)
        queues = {name: Queue(name, REGION, ACCOUNT) for name in self.queues}
        sqs_backends[ACCOUNT][REGION].queues = queues


_made: dict[str, tuple[Any, MotoStores]] = {}


def make_once[Made](name: str, make: Callable[[], Made]) -> Made:
    """Return what `make` made: it is called for the first test that needs it, and for others the same is put back."""
    if name in _made:
        made, stores = _made[name]
        stores.put_back()
    else:
        made = make()
        _made[name] = made, MotoStores.now()
    return made
