"""CloudFormation's YAML tags and functions, resolved to plain values.

Reference: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class TemplateError(Exception):
    """The template has something that the embedded AWS cannot read."""


# The loader in C: the one in Python takes ten times as long, 190 ms for our template, which nearly every test reads.
class _TemplateLoader(yaml.CSafeLoader):
    """Reads `!Ref X` as `{"Ref": "X"}`, `!GetAtt X.Arn` as `{"Fn::GetAtt": ["X", "Arn"]}` and so on."""


def _tag(loader: _TemplateLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}


_TemplateLoader.add_multi_constructor("!", _tag)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a template with every intrinsic function in its long form."""
    document = yaml.load(path.read_text(encoding="utf-8"), _TemplateLoader)  # noqa: S506 - _TemplateLoader is a CSafeLoader  # nosec B506
    if not isinstance(document, dict):
        raise TemplateError(f"{path} is not a CloudFormation template")
    return document


NO_VALUE = object()
"""The value of `AWS::NoValue`: the property that has it is dropped."""
_LOGIC: dict[str, Callable[[Iterable[bool]], bool]] = {"And": all, "Or": any, "Not": lambda found: not any(found)}


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """Resolves intrinsic functions; `ref` and `get_att` resolve everything that is not a parameter."""

    parameters: Mapping[str, str]
    conditions: Mapping[str, Any]
    ref: Callable[[str], Any]
    get_att: Callable[[str, str], Any]

    def resolve(self, value: Any) -> Any:
        """Replace every intrinsic function in a value, at any depth."""
        if isinstance(value, list):
            return [found for item in value if (found := self.resolve(item)) is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref" or (isinstance(name, str) and name.startswith("Fn::")):
                return self._call(name.removeprefix("Fn::"), argument)
        return {key: found for key, item in value.items() if (found := self.resolve(item)) is not NO_VALUE}

    def holds(self, condition: str) -> bool:
        """Return whether a named condition of the template is true."""
        if condition not in self.conditions:
            raise TemplateError(f"the template has no condition {condition}")
        return self.test(self.conditions[condition])

    def test(self, value: Any) -> bool:
        """Return whether a condition, named or written out, is true."""
        # Elsewhere, as in the statements of a policy, `Condition` is a key like any other.
        if isinstance(value, dict) and value.keys() == {"Condition"}:
            return self.holds(value["Condition"])
        return bool(self.resolve(value))

    def _call(self, name: str, argument: Any) -> Any:
        match name:
            case "Ref":
                return self.parameters[argument] if argument in self.parameters else self.ref(argument)
            case "GetAtt":
                found = argument.split(".", 1) if isinstance(argument, str) else argument
                return self.get_att(found[0], str(self.resolve(found[1])))
            case "Sub":
                return self._sub(argument)
            case "If":
                return self.resolve(argument[1] if self.holds(argument[0]) else argument[2])
            case "Equals":
                return self.resolve(argument[0]) == self.resolve(argument[1])
            case "And" | "Or" | "Not":
                return _LOGIC[name](map(self.test, argument))
            case "Join":
                return str(argument[0]).join(str(item) for item in self.resolve(argument[1]))
            case "Select":
                return self.resolve(argument[1])[int(self.resolve(argument[0]))]
            case "Split":
                return str(self.resolve(argument[1])).split(str(argument[0]))
        raise TemplateError(f"Fn::{name} is not supported here")

    def _sub(self, argument: Any) -> str:
        text, own = (argument, {}) if isinstance(argument, str) else (argument[0], self.resolve(argument[1]))

        def replacement(match: re.Match[str]) -> str:
            name = match[1].strip()
            if name.startswith("!"):
                return "${" + name[1:] + "}"
            if name in own:
                return str(own[name])
            if name in self.parameters or "." not in name:
                return str(self._call("Ref", name))
            return str(self._call("GetAtt", name))

        return re.sub(r"\$\{([^}]+)\}", replacement, text)
