"""Tasks over two or more services that a batch does by compact references.

`make bench ARGS="chains"` measures this part alone.
"""

from collections.abc import Iterator

from benchmarks.report import Row
from mcpist.errors import McpistError
from tests.services.chains import CHAINS, Chain, Run
from tests.services.contracts import SPECS

MIN_COMPACT = 78


def rows() -> Iterator[Row]:
    """Count the tasks that pass against the vendors' descriptions; without these, a row says so."""
    what = "tasks over two or more services that pass against the vendors' descriptions, without `raw`"
    if not (SPECS / "contract.py").exists():
        yield what, f"not measured: the descriptions are not in {SPECS.name}", ""
        return
    passed = sum(chain.is_compact and _passes(chain) for chain in CHAINS)
    yield what, f"{passed} of {len(CHAINS)}", f"{MIN_COMPACT} or more"


def _passes(chain: Chain) -> bool:
    try:
        Run.of(chain)
    except (McpistError, AssertionError):
        return False
    return True
