"""The list of what the rehearsal's engine does not do."""

from rehearsal.gaps import GAPS, listed_gaps


def test_the_page_lists_the_gaps_that_the_rehearsal_checks() -> None:
    assert listed_gaps() == [gap.name for gap in GAPS]
