"""The keys of a run, and the one that signs a request."""

import pytest

from infra.local.access_keys import KeyHolder, Keyring, credential_scope
from tests.infra.local.web import request, signed

CALLER = KeyHolder("F-1", "F")


def test_a_signed_request_names_its_key_and_service() -> None:
    assert credential_scope(request("POST", "/", headers=signed("AKIA1", "dynamodb"))) == ("AKIA1", "dynamodb")


def test_a_presigned_request_names_them_in_its_query() -> None:
    credential = "AKIA1%2F20261121%2Fus-east-1%2Fs3%2Faws4_request"
    assert credential_scope(request("GET", f"/b/k?X-Amz-Credential={credential}&X-Amz-Signature=0")) == ("AKIA1", "s3")


@pytest.mark.parametrize("authorization", ["Bearer x", "AWS4-HMAC-SHA256 Credential=x"])
def test_other_requests_have_no_credential(authorization: str) -> None:
    assert credential_scope(request("GET", "/", headers={"Authorization": authorization})) in {None, ("", "")}


def test_keys_are_random_and_only_issued_ones_are_known() -> None:
    keyring = Keyring()
    first, second = keyring.issue(CALLER), keyring.issue(CALLER)
    assert first != second
    assert keyring.caller(first) == CALLER
    assert keyring.caller("AKIA") is None
