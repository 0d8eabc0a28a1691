"""Overlay files: an overlay as YAML that people read and correct."""

from typing import Any

from mcpist_services.described.overlay import Overlay
from mcpist_services.described.reading import plain_value

HEADER = """\
# yaml-language-server: $schema=../apis.schema.json
# {title} as a module, written by `mcpist api import`. Correct it as you like: the next import keeps your corrections.
# docs/apis.md explains it. No secret belongs here: keys are connected like any other account.
"""
# What people read and correct comes first.
_FIRST = ("name", "title", "description", "version", "source", "host", "security", "review", "tools", "left_out")
MAX_FLOW_CHARACTERS = 110


def dump_overlay(overlay: Overlay) -> str:
    """Return the text of an overlay's file; short objects and lists take one line."""
    import yaml

    class Dumper(yaml.CSafeDumper if hasattr(yaml, "CSafeDumper") else yaml.SafeDumper):  # type: ignore[misc]
        """Writes no aliases: a person may correct one of two equal parts."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

        def represent_str(self, text: str) -> Any:
            """Quote what would be read as another value than a text."""
            quoted = plain_value(text) != text
            return self.represent_scalar("tag:yaml.org,2002:str", text, style="'" if quoted else None)

        def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> Any:
            return super().represent_sequence(tag, sequence, flow_style=_is_short(sequence) or flow_style)

        def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
            return super().represent_mapping(tag, mapping, flow_style=_is_short(mapping) or flow_style)

    Dumper.add_representer(str, Dumper.represent_str)
    values = overlay.dump()
    ordered = {key: values[key] for key in _FIRST if key in values} | values
    text: str = yaml.dump(ordered, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return HEADER.format(title=overlay.title) + text


def _is_short(value: Any) -> bool:
    """Whether a value is small and simple enough for one line."""
    text = str(value)
    return len(text) <= MAX_FLOW_CHARACTERS and "\n" not in text and not any(key in text for key in ("{{", "[["))
