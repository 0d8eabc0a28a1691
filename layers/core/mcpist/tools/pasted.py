"""Pasted addresses: what people copy from a browser, where a tool wants an id or a name."""

import re

from pydantic import BeforeValidator


def from_url(*patterns: str) -> BeforeValidator:
    """Take a page's address in the place of a value: the first group of the first pattern that matches is the value.

    A pattern matches at the beginning of the text; a value that no pattern matches stays as it is. In `Annotated` it
    stands after the type's `Field`, so that the published schema keeps that.
    """
    addresses = [re.compile(pattern) for pattern in patterns]

    def value_of(value: object) -> object:
        text = value.strip() if isinstance(value, str) else ""
        return next((match[1] for address in addresses if (match := address.match(text))), value)

    return BeforeValidator(value_of)
