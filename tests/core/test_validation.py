import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from mcpist.errors import InvalidRequest
from mcpist.validation import field_path, first_error, parse_model


class Inner(BaseModel):
    number: int


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    inners: list[Inner] = Field(alias="theirs")


def test_valid_arguments_become_a_model() -> None:
    assert parse_model(Outer, {"theirs": [{"number": 1}]}).inners == [Inner(number=1)]


def test_a_misspelt_field_is_answered_with_the_one_that_it_resembles() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_model(Outer, {"theirs": [], "their": 1})
    assert refused.value.details == {"field": "their", "problem": "there is no such field: did you mean theirs?"}


def test_the_first_wrong_field_is_named_with_its_path_and_the_given_details() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_model(Outer, {"theirs": [{"number": 1}, {"number": "one"}], "more": 1}, schema={"type": "object"})
    assert refused.value.details == {
        "field": "theirs.1.number",
        "problem": "Input should be a valid integer, unable to parse string as an integer",
        "schema": {"type": "object"},
    }
    assert refused.value.__suppress_context__  # the model's own error would show the value in a traceback


def test_an_error_never_contains_the_value() -> None:
    with pytest.raises(ValidationError) as refused:
        Inner.model_validate({"number": "s3cret"})
    assert "s3cret" not in repr(first_error(refused.value))


def test_an_error_of_the_whole_model_has_the_name_of_the_root() -> None:
    assert field_path((), "arguments") == "arguments"
    assert field_path(("theirs", 0), "arguments") == "theirs.0"


def test_a_validators_own_words_come_without_the_name_of_an_exception() -> None:
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def check(cls, number: int) -> int:
            if number % 2:
                raise ValueError("it is odd")
            return number

    with pytest.raises(InvalidRequest) as refused:
        parse_model(Even, {"number": 1})
    assert refused.value.details["problem"] == "it is odd"
