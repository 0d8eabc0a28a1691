"""A browser's request: the HTTP request and the fields of a form in it."""

from functools import cached_property
from urllib.parse import parse_qs

from mcpist.aws.http_request import HttpRequest
from mcpist.errors import InvalidRequest

MAX_FORM_BYTES = 64_000
MAX_FORM_FIELDS = 300


class Request(HttpRequest):
    """A browser's request; `form` has all values of each field."""

    @cached_property
    def form(self) -> dict[str, list[str]]:
        """The fields of the form that is sent, empty ones included."""
        body = self.body(MAX_FORM_BYTES)
        try:
            return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
        except ValueError:
            raise InvalidRequest(field="form", problem="it cannot be read") from None

    def form_value(self, name: str) -> str:
        """Return the only value of a field, empty if it is not in the form."""
        values = self.form.get(name, [""])
        if len(values) != 1:
            raise InvalidRequest(field=name, problem="it is there more than once")
        return values[0]
