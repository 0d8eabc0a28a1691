from mcpist import directory
from mcpist.caller import Subject


def test_x(organization: str, aws: list[str], login) -> None:
    caller = directory.identify(Subject(login.issuer, "ada"))
    assert caller.role_names == ("members",)
    assert aws == ["Query"]
