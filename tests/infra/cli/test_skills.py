"""`mcpist skill`."""

from tests.infra.cli.conftest import Mcpist
from tests.services.rag.bucket import store


def test_a_skill_is_listed_shown_and_approved(mcpist: Mcpist) -> None:
    store("skills/refunds/SKILL.md", "---\nname: refunds\ndescription: How we refund\n---\n\x1b[2JAsk finance.\n")
    (row,) = mcpist("skill", "list")["skills"]
    assert (row["name"], row["review"]) == ("refunds", "new")
    shown = mcpist("skill", "show", "refunds")
    assert "Ask finance." in shown["lines"][-2]
    assert (
        mcpist("skill", "approve", "refunds", "--fingerprint", "0" * 64, fails=True)["details"]["field"]
        == "fingerprint"
    )
    assert mcpist("skill", "approve", "refunds", "--fingerprint", shown["fingerprint"])["review"] == "approved"
    assert mcpist("skill", "show", "nothing", fails=True)["code"] == "FILE_NOT_FOUND"
