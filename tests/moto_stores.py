"""moto's tables, buckets and keys: made once in a process, and put back for each test, which is quicker."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from moto.dynamodb.models import dynamodb_backends
from moto.kms.models import kms_backends
from moto.s3.models import s3_backends

from infra.local.names import ACCOUNT, REGION


@dataclass(frozen=True)
class MotoStores:
    """All tables with their items, all buckets with their files, and the keys, at one moment."""

    tables: dict[str, Any]
    buckets: dict[str, Any]
    keys: dict[str, Any]

    @classmethod
    def now(cls) -> Self:
        """Copy them as they are."""
        return cls(
            copy.deepcopy(dynamodb_backends[ACCOUNT][REGION].tables),
            copy.deepcopy(s3_backends[ACCOUNT]["aws"].buckets),
            dict(kms_backends[ACCOUNT][REGION].keys),
        )

    def put_back(self) -> None:
        """Make them again what they were."""
        dynamodb_backends[ACCOUNT][REGION].tables = copy.deepcopy(self.tables)
        s3_backends[ACCOUNT]["aws"].buckets = copy.deepcopy(self.buckets)
        kms_backends[ACCOUNT][REGION].keys = dict(self.keys)


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
