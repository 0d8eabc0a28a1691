"""What a sandbox has that comes from a snapshot."""

import random

import snapshot_restore_py

from mcpist.aws.snapshot import prepare
from token_broker.resolving import lease


def test_a_restored_sandbox_draws_other_numbers_than_the_others_of_its_snapshot() -> None:
    prepare(services=())
    (reseed, args, kwargs) = snapshot_restore_py.get_after_restore()[-1]
    state = random.getstate()
    drawn = set()
    for _ in range(2):
        random.setstate(state)
        reseed(*args, **kwargs)
        drawn.add(random.random())  # noqa: S311 - what libraries draw
    assert len(drawn) == 2


def test_the_pause_of_a_failed_refresh_does_not_come_from_the_snapshots_generator() -> None:
    assert isinstance(lease._random, random.SystemRandom)
