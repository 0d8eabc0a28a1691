"""`mcpist why`."""

from tests.infra.cli.conftest import Mcpist


def test_why_names_the_decision_that_says_no(mcpist: Mcpist) -> None:
    found = mcpist("why", "rag.delete_doc")
    assert (found["firstNo"], found["usable"], found["user"], found["roles"]) == ("mask", False, "uma", [])
    other = mcpist("why", "rag.delete_doc", "--user", "ada")
    assert (other["user"], other["roles"]) == ("ada", [{"role": "members", "rule": "allow", "mask": ""}])
    assert mcpist("why", "rag.list_tags", "--user", "uma")["usable"] is True
