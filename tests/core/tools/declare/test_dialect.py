import base64

import pytest

from mcpist.running.accounts import Account
from mcpist.running.broker import Credential
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.dialect import CredentialKind, CredentialPlacement
from mcpist.tools.declare.module import Module

BASIC = base64.b64encode(b"ada:pw").decode()


@pytest.mark.parametrize(
    ("kind", "key", "headers", "query"),
    [
        ("bearer", "k", {"authorization": "Bearer k"}, {}),
        ("basic", "ada:pw", {"authorization": f"Basic {BASIC}"}, {}),
        ("basic", "k", {"authorization": f"Basic {base64.b64encode(b'k:').decode()}"}, {}),
        ("header", "k", {"x-key": "Token k"}, {}),
        ("query", "k", {}, {"X-Key": "k"}),
    ],
)
def test_a_credential_is_sent_where_its_service_expects_it(
    kind: CredentialKind, key: str, headers: dict[str, str], query: dict[str, str]
) -> None:
    placement = CredentialPlacement(kind, "X-Key", "Token ")
    module = Module("shop", "A shop.", api_version="1", host="https://shop.example", credential=placement)
    account = Account("acme", module, Credential(key, "1", "ada", "user#ada", None))
    call = Call("GET", "/a", {"q": 1, "X-Key": "other"}, headers={"X-Key": "other"})
    assert {name: account.headers(call)[name] for name in headers} == headers
    assert {**account.query(call)} == {"q": 1, "X-Key": "other", **query}
    assert key in set(account.secrets(call))
    assert account.query(Call("GET", "/a", origin="https://other.example")) == {}
    if kind == "basic":
        assert {BASIC, "pw"} <= set(account.secrets(call)) or key == "k"
