"""JMESPath over the value of a file, with bounds on its work and on what it makes.

Source: https://jmespath.org/specification.html
"""

from typing import Any

from jmespath.exceptions import JMESPathError
from jmespath.parser import Parser
from jmespath.visitor import TreeInterpreter

from mcpist.errors import InvalidRequest

MAX_STEPS = 2_000_000  # evaluated parts of the expression, over all elements
MAX_MADE_VALUES = 4_000_000  # in the lists and objects that the expression itself makes
MAX_RESULT_VALUES = 200_000
MAX_JMESPATH_CHARACTERS = 2_000
CHARACTERS_PER_VALUE = 16


class _BoundedInterpreter(TreeInterpreter):  # type: ignore[misc]
    """JMESPath's interpreter, which gives up before an expression takes too long or makes too much."""

    def __init__(self, max_steps: int, max_made: int) -> None:
        super().__init__()
        self.steps_left = max_steps
        self.values_left = max_made

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise _invalid("it takes too many steps: narrow it with a filter or an index first")
        return super().visit(node, *args, **kwargs)

    def visit_multi_select_list(self, node: Any, value: Any) -> Any:
        return self._spend(super().visit_multi_select_list(node, value))

    def visit_multi_select_dict(self, node: Any, value: Any) -> Any:
        return self._spend(super().visit_multi_select_dict(node, value))

    def visit_flatten(self, node: Any, value: Any) -> Any:
        """Flatten a list whose flat length is known to be bounded before it is made."""
        base = self.visit(node["children"][0], value)
        if isinstance(base, list):
            self._spend_values(sum(len(element) for element in base if isinstance(element, list)))
        return super().visit_flatten({"children": [{"type": "literal", "value": base}]}, value)

    def _spend(self, made: Any) -> Any:
        """Count a value that the expression made, as large as it is when all of it is written out."""
        self._spend_values(_count_values(made, self.values_left))
        return made

    def _spend_values(self, values: int) -> None:
        self.values_left -= values
        if self.values_left < 0:
            raise _invalid("it makes too much: narrow it with a filter or an index first")


def search(value: Any, expression: str, *, max_steps: int = MAX_STEPS, max_made: int = MAX_MADE_VALUES) -> Any:
    """Return the result of an expression on a value; InvalidRequest for one that does not parse, or takes too much."""
    if len(expression) > MAX_JMESPATH_CHARACTERS:
        raise _invalid(f"it has more than {MAX_JMESPATH_CHARACTERS} characters")
    try:
        # jq begins a path with a dot.
        parsed = Parser().parse(expression.strip().removeprefix(".") or "@").parsed
        found = _BoundedInterpreter(max_steps, max_made).visit(parsed, value)
    except JMESPathError as error:
        raise _invalid(f"it is no JMESPath for this file: {_one_line(error)}") from None
    except RecursionError:
        raise _invalid("it is nested too deeply") from None
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise _invalid(f"it cannot be evaluated here: {_one_line(error)}") from None
    if _count_values(found, MAX_RESULT_VALUES) > MAX_RESULT_VALUES:
        raise _invalid(f"its result has more than {MAX_RESULT_VALUES:,} values: ask for less")
    return found


def _count_values(value: Any, limit: int) -> int:
    """Count the values in a value, and long texts as several; stop after the limit."""
    count, stack = 0, [value]
    while stack and count <= limit:
        inner = stack.pop()
        count += 1 + (len(inner) // CHARACTERS_PER_VALUE if isinstance(inner, str) else 0)
        stack += inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
    return count


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _invalid(problem: str) -> InvalidRequest:
    return InvalidRequest(field="expression", problem=problem)
