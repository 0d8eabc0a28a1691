"""The page of the batch language, from the model of a step, the options of a batch, and the errors of both."""

import ast
import inspect
import json
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from mcpist import errors
from mcpist.batch import language
from mcpist.batch.execution import plan
from mcpist.batch.language import references, steps
from mcpist.batch.options import BatchOptions

BOUNDS = {"minimum": "at least {}", "maximum": "at most {}", "pattern": "matches `{}`", "enum": "one of {}"}


def lines() -> list[str]:
    """Return the lines of the page below its title."""
    return [
        "A batch is JSON Lines, a step a line, or a list of the same objects. [Batches](batches.md) explains it; this",
        "page is written from the code by `make docs`.",
        "",
        "## Fields of a step",
        "",
        "| field | also written | value | default | meaning |",
        "| --- | --- | --- | --- | --- |",
        *_fields(steps.StepModel, _documented(steps.Step)),
        "",
        f"A batch has at most {steps.MAX_BATCH_STEPS} steps. A field that is not here is refused.",
        "",
        "## Options of a batch",
        "",
        "| option | value | default | meaning |",
        "| --- | --- | --- | --- |",
        *_options(),
        "",
        "## References",
        "",
        *(inspect.getdoc(references) or "").removeprefix("References: ").splitlines(),
        "",
        "## Conditions",
        "",
        "```",
        *_indented(inspect.getdoc(steps) or ""),
        "```",
        "",
        "## Errors",
        "",
        "A batch is refused with these before anything runs; one answer names up to "
        f"{steps.MAX_PROBLEMS} of them, each with its line. All others are in [Errors](errors.md).",
        "",
        "| code | HTTP | when |",
        "| --- | --- | --- |",
        *(f"| `{kind.code}` | {kind.status} | {kind.__doc__} |" for kind in refusals()),
    ]


def refusals() -> list[type[errors.McpistError]]:
    """Return the errors that the rooms of the language and of its plan raise, by their codes."""
    modules = [import_module(f"{language.__name__}.{one.name}") for one in pkgutil.iter_modules(language.__path__)]
    concrete = set(errors.concrete_errors())
    found = {value for module in (*modules, plan) for value in vars(module).values() if _is_in(value, concrete)}
    return sorted(found, key=lambda kind: (kind.code, kind.__name__))


def _is_in(value: Any, concrete: set[type[errors.McpistError]]) -> bool:
    return isinstance(value, type) and value in concrete


def _fields(model: type[BaseModel], meanings: dict[str, str]) -> Iterator[str]:
    schema = _properties(model)
    for name, field in model.model_fields.items():
        others = ", ".join(f"`{one}`" for one in _aliases(field) if one != name)
        default = "required" if field.is_required() else _shown(field.get_default(call_default_factory=True))
        yield f"| `{name}` | {others} | {_value(schema[name])} | {default} | {meanings[name]} |"


def _options() -> Iterator[str]:
    schema = _properties(BatchOptions)
    for name, field in BatchOptions.model_fields.items():
        yield f"| `{name}` | {_value(schema[name])} | {_shown(field.get_default())} | {field.description} |"


def _properties(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas of a model's fields, of an optional one that of its value."""
    schema = model.model_json_schema()
    found = {}
    for name, spec in schema["properties"].items():
        inner = next((one for one in spec.get("anyOf", []) if one.get("type") != "null"), spec)
        found[name] = schema["$defs"][inner["$ref"].rpartition("/")[2]] if "$ref" in inner else inner
    return found


def _aliases(field: FieldInfo) -> list[str]:
    alias = field.validation_alias
    return [str(one) for one in alias.choices] if isinstance(alias, AliasChoices) else []


def _value(spec: dict[str, Any]) -> str:
    """Return the type of a value with its bounds."""
    said = [text.format(_bound(spec[word])) for word, text in BOUNDS.items() if word in spec]
    kind = "" if "enum" in spec else str(spec["type"])
    return ", ".join(filter(None, [kind, *said]))


def _bound(value: Any) -> str:
    shown = ", ".join(f"`{one}`" for one in value) if isinstance(value, list) else str(value)
    return shown.replace("|", "\\|")


def _shown(value: Any) -> str:
    return "" if value in (None, "", (), {}) else f"`{json.dumps(value)}`"


def _documented(kind: type[Any]) -> dict[str, str]:
    """Return the docstrings of a class's fields."""
    (body,) = (one.body for one in ast.parse(inspect.getsource(kind)).body if isinstance(one, ast.ClassDef))
    found = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return found


def _indented(text: str) -> list[str]:
    """Return the lines of a docstring that show the language, which begin with a quote or a brace."""
    return [line for line in text.splitlines() if line.startswith(('"', "{"))]
