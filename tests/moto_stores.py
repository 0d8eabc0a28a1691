"""moto's tables and buckets, made once in a process and put back for each test: making them takes longer than most."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from moto.dynamodb.models import dynamodb_backends
from moto.s3.models import s3_backends

from infra.local.names import ACCOUNT, REGION


@dataclass(frozen=True)
class MotoStores:
    """All tables with their items, and all buckets with their files, at one moment."""

    tables: dict[str, Any]
    buckets: dict[str, Any]

    @classmethod
    def now(cls) -> Self:
        """Copy them as they are."""
        return cls(
            copy.deepcopy(dynamodb_backends[ACCOUNT][REGION].tables),
            copy.deepcopy(s3_backends[ACCOUNT]["aws"].buckets),
        )

    def put_back(self) -> None:
        """Make them again what they were."""
        dynamodb_backends[ACCOUNT][REGION].tables = copy.deepcopy(self.tables)
        s3_backends[ACCOUNT]["aws"].buckets = copy.deepcopy(self.buckets)


_made: dict[str, MotoStores] = {}


def make_once(name: str, make: Callable[[], object]) -> None:
    """Call `make` for the first test that needs what it makes; put the same back for every other."""
    if name in _made:
        _made[name].put_back()
    else:
        make()
        _made[name] = MotoStores.now()
