"""The texts of all errors: one file per language, with a message and a hint for each error class."""

from typing import NamedTuple


class Text(NamedTuple):
    """A message that says what happened, and a hint that says what to do; as a template or filled in."""

    message: str
    hint: str
