"""Which permission an account lacks, by what it was granted; what services say themselves is in test_failures."""

import pytest

from mcpist.running.scopes import first_missing_scope

WIDER = {"read": ("write", "all"), "write": ("all",)}


@pytest.mark.parametrize(
    ("needed", "granted", "lacks"),
    [
        (("read",), ("read",), None),
        (("read",), ("write", "other"), None),
        (("read",), ("all",), None),
        (("write",), ("read",), "write"),
        (("read", "write"), ("read",), "write"),
        (("read", "write"), ("other",), "read"),
        ((), ("other",), None),
        (("read",), (), None),
    ],
)
def test_the_first_permission_that_nothing_includes_is_missing(
    needed: tuple[str, ...], granted: tuple[str, ...], lacks: str | None
) -> None:
    assert first_missing_scope(needed, granted, WIDER) == lacks
