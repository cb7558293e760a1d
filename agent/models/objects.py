"""Models that are objects of this process, made by whoever calls `housequest.evaluate`, under names such as ``object:mine``."""

from __future__ import annotations

import re
from typing import ClassVar

from housequest.agent.models.base import Model
from housequest.agent.models.registry import EXAMPLE, CallOptions, ModelProvider
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.registry import register_here

KIND = "object"


class ObjectModels(ModelProvider):
    """Gives the objects that `keep` was given."""

    forms = (f"{KIND}:NAME",)
    images = True
    free = True
    kept: ClassVar[dict[str, Model]] = {}

    def make(self, *, name: str, options: CallOptions) -> Model:
        del name, options
        if self.rest not in self.kept:
            raise ConfigurationError(f"There is no model object {shown(self.rest)} in this process; give the object itself.")
        return self.kept[self.rest]

    @classmethod
    def about(cls) -> str:
        return "a model that is an object of this process"


def keep(model: Model) -> str:
    """Keep ``model``, in place of another with its name, and return how settings name it. Raises ``ConfigurationError``."""
    if isinstance(model, type) or not all(hasattr(model, part) for part in ("name", "complete", "capabilities", "aclose")):
        raise ConfigurationError(f"{shown(model)} is no model; give an object of a subclass of Model, or a name: {EXAMPLE}.")
    register_here("housequest.models", KIND, ObjectModels)
    name = re.sub(r"[,=\s]+", "-", model.name.strip()) or "model"
    ObjectModels.kept[name] = model
    return f"{KIND}:{name}"
