"""Tasks over two or more services are one batch each, by what the tools show."""

from tests.faults import for_each
from tests.services.chains import CHAINS, Chain, Run
from tests.services.contracts import needs_descriptions

MIN_TASKS, MIN_COMPACT = 80, 78


@needs_descriptions
@for_each("chain", {chain.task: chain for chain in CHAINS})
def test_a_task_over_several_services_is_one_batch(chain: Chain) -> None:
    assert set(Run.of(chain).results) == {step["id"] for step in chain.steps}


def test_the_tasks_are_many_over_several_services_and_nearly_all_compact() -> None:
    assert len({chain.task for chain in CHAINS}) >= MIN_TASKS
    assert all(len(chain.services) >= 2 for chain in CHAINS)
    assert sum(chain.is_compact for chain in CHAINS) >= MIN_COMPACT
