"""``builtin``: the small model that ships, which plays household text games in NumPy."""

from __future__ import annotations

from pathlib import Path

from housequest.agent.models.base import Model
from housequest.agent.models.registry import CallOptions, ModelProvider, file_name
from housequest.worlds.paths import given_path


class BuiltinProvider(ModelProvider):
    """The model that ships, for ALFWorld's households; ``rest`` may name the file of another trained and exported one."""

    forms = ("builtin",)
    brief = True
    free = True

    def __init__(self, rest: str) -> None:
        super().__init__(file_name(rest) if rest else "")

    def make(self, *, name: str, options: CallOptions) -> Model:
        del options
        from housequest.agent.models.builtin.model import load_builtin

        return load_builtin(given_path(self.rest) if self.rest else None, name=name)

    def portable(self) -> str:
        return Path(self.rest).name

    def digest(self) -> str:
        from housequest.agent.models.builtin.network import SHIPPED
        from housequest.agent.networks import digest

        return digest(given_path(self.rest) if self.rest else SHIPPED)

    def learned_from(self) -> tuple[str, ...]:
        return () if self.rest else ("train", "generated:0..2999", "generated:100000..101499")

    @classmethod
    def about(cls) -> str:
        return "the model that ships; used if no other is named"
