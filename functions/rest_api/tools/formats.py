"""Tools as the platforms of models want them defined.

OpenAI: https://platform.openai.com/docs/guides/function-calling (chat completions, which other servers
take as well)
Anthropic: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use
Gemini: https://ai.google.dev/gemini-api/docs/function-calling
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

type Platform = Literal["openai", "anthropic", "gemini"]
type Definition = tuple[str, str, dict[str, Any]]
"""A tool's name, its description and the JSON Schema of its arguments."""


def definitions(platform: Platform, tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """Return tools as a request to a platform has them."""
    return _FORMATS[platform](tools)


def _openai(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
        for name, description, schema in tools
    ]


def _anthropic(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    return [{"name": name, "description": description, "input_schema": schema} for name, description, schema in tools]


def _gemini(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    declarations = [
        {"name": name, "description": description, "parametersJsonSchema": schema}
        for name, description, schema in tools
    ]
    return [{"functionDeclarations": declarations}] if declarations else []


_FORMATS: Mapping[Platform, Callable[[Sequence[Definition]], list[dict[str, Any]]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
