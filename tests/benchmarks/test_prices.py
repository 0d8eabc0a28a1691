from datetime import date
from urllib.parse import urlsplit

import pytest

from benchmarks.prices import MissingPrice, Price, dollars, prices, total
from benchmarks.usage import PRICED, S3_METHODS


def test_a_usage_has_the_cost_that_is_computed_by_hand() -> None:
    # One call: an HTTP request, an invocation of 0.3 s at 1 GB, three writes in DynamoDB.
    call = {"http_api_request": 1.0, "lambda_request": 1, "lambda_gb_second": 0.3, "dynamodb_write": 3}
    assert dollars({key: 1_000_000 * amount for key, amount in call.items()}) == pytest.approx(
        {"http_api_request": 1.00, "lambda_request": 0.20, "lambda_gb_second": 5.00001, "dynamodb_write": 1.875}
    )


def test_a_unit_without_a_price_is_an_error() -> None:
    with pytest.raises(MissingPrice, match="no price for sqs_request"):
        dollars({"lambda_request": 1, "sqs_request": 1})


def test_usages_add_up() -> None:
    assert total([{"kms_request": 1, "s3_get": 2}, {"s3_get": 0.5}, {}]) == {"kms_request": 1, "s3_get": 2.5}


def test_every_operation_that_is_billed_has_a_price() -> None:
    assert {*PRICED.values(), *S3_METHODS.values(), "dynamodb_read", "dynamodb_write"} <= set(prices())


@pytest.mark.parametrize("price", prices().values(), ids=lambda price: price.name)
def test_every_price_has_a_source_that_is_not_of_the_future(price: Price) -> None:
    assert price.dollars > 0
    assert price.per >= 1
    assert urlsplit(price.source).scheme == "https"
    assert price.seen is None or price.seen <= date(2026, 11, 22)
