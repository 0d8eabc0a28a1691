"""A mapping of pydantic models by name, whose changes are recorded in the state of a stack."""

from collections import UserDict

from pydantic import BaseModel

from infra.local.state import State


class KeptModels[Model: BaseModel](UserDict[str, Model]):
    """The models of one kind of records."""

    def __init__(self, state: State, kind: str, model: type[Model]) -> None:
        super().__init__()
        self._state = state
        self._kind = kind
        self.data = {name: model.model_validate_json(record) for name, record in state.all(kind)}

    def __setitem__(self, name: str, value: Model) -> None:
        """Record a model."""
        self._state.put(self._kind, name, value.model_dump_json().encode())
        self.data[name] = value

    def __delitem__(self, name: str) -> None:
        """Delete a model and its record."""
        self._state.put(self._kind, name, None)
        del self.data[name]
