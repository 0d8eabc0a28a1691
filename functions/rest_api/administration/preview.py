"""The tools that a role or a user would see."""

from typing import Annotated

from pydantic import BaseModel, Field


class PreviewedModule(BaseModel):
    """The number of a module's visible tools."""

    module: str
    tools: int
    of: int
    names: Annotated[dict[str, str], Field(description="The effect of each tool, if they are named")] = {}


class Preview(BaseModel):
    """The visible tools by module."""

    tools: int
    modules: list[PreviewedModule]
