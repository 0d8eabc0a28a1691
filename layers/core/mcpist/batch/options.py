"""The options of a whole batch, declared once: the requests of all doors inherit them, and its header carries them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mcpist.caller import AnswerFormat
from mcpist.render.answer import DEFAULT_ANSWER_TOKENS
from mcpist.running.options import MaxTokens, RunOptions

MIN_BATCH_TIMEOUT_SECONDS, MAX_BATCH_TIMEOUT_SECONDS = 10, 3_000


@dataclass(frozen=True, slots=True)
class Brief:
    """The words that stand for an option's description and bounds in the schema that a model reads."""

    text: str


class BatchOptions(BaseModel):
    """The choices of a caller for a whole batch. A new one needs a field here, and the place where it acts."""

    model_config = ConfigDict(frozen=True)

    timeout: Annotated[
        int,
        Field(
            ge=MIN_BATCH_TIMEOUT_SECONDS,
            le=MAX_BATCH_TIMEOUT_SECONDS,
            description="Seconds for the whole batch: after them no step begins",
        ),
        Brief(f"{MIN_BATCH_TIMEOUT_SECONDS}-{MAX_BATCH_TIMEOUT_SECONDS} s"),
    ] = 900
    max_tokens: Annotated[
        MaxTokens,
        Field(description="Tokens of the answer at /mcp, which the steps share: larger results are files"),
        Brief("answer"),
    ] = DEFAULT_ANSWER_TOKENS
    format: Annotated[
        AnswerFormat | None,
        Field(description="The form of the results that a model reads"),
        Brief("toon, json, markdown"),
    ] = None

    undoable: Annotated[
        bool,
        Field(description="Keep what undoes each write; a step that nothing undoes fails before it writes"),
        Brief("keep undo"),
    ] = False

    on_failure: Annotated[
        Literal["stop", "undo"],
        Field(description="`undo` takes back what succeeded where a step failed; each write must be undoable"),
        Brief("undo"),
    ] = "stop"

    def applied_to(self, step: RunOptions) -> RunOptions:
        """Return the options of a step with what holds for the whole batch."""
        return step.model_copy(update={"undoable": True}) if self.undoable or self.on_failure == "undo" else step

    @property
    def options(self) -> "BatchOptions":
        """The options alone, of a request that has other fields, too."""
        return BatchOptions(**{name: getattr(self, name) for name in BatchOptions.model_fields})


DEFAULT_OPTIONS = BatchOptions()


def brief_schemas(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schemas of an object's properties, in which the options have few words and no bounds."""
    brief = {
        name: {
            "description": next(one.text for one in field.metadata if isinstance(one, Brief)),
            **{key: value for key, value in properties[name].items() if key in {"default", "type"}},
        }
        for name, field in BatchOptions.model_fields.items()
    }
    others = {name: schema for name, schema in properties.items() if name not in brief}
    return others | brief
