"""ALFWorld's commands as methods for models that call tools; their types and docstrings are the tools' descriptions.

Every public method is a tool and nothing else is public, since some programs use everything they find. The docstrings come from
``tools.toml``.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from pathlib import Path


class CommandTools(ABC):
    """Methods that play one command each and return the answer; a subclass implements ``_play``."""

    @abstractmethod
    def _play(self, command: str) -> str: ...

    def go_to(self, receptacle: str) -> str:
        return self._play(f"go to {receptacle}")

    def take(self, object: str, receptacle: str) -> str:
        return self._play(f"take {object} from {receptacle}")

    def put(self, object: str, receptacle: str) -> str:
        return self._play(f"move {object} to {receptacle}")

    def open(self, receptacle: str) -> str:
        return self._play(f"open {receptacle}")

    def close(self, receptacle: str) -> str:
        return self._play(f"close {receptacle}")

    def heat(self, object: str, receptacle: str) -> str:
        return self._play(f"heat {object} with {receptacle}")

    def cool(self, object: str, receptacle: str) -> str:
        return self._play(f"cool {object} with {receptacle}")

    def clean(self, object: str, receptacle: str) -> str:
        return self._play(f"clean {object} with {receptacle}")

    def slice(self, object: str, knife: str) -> str:
        return self._play(f"slice {object} with {knife}")

    def use(self, object: str) -> str:
        return self._play(f"use {object}")

    def examine(self, name: str) -> str:
        return self._play(f"examine {name}")

    def look(self) -> str:
        return self._play("look")

    def inventory(self) -> str:
        return self._play("inventory")


def _docstring(does: str, returns: str, arguments: dict[str, str] | None = None) -> str:
    named = {"Args": [f"{name}: {what}" for name, what in (arguments or {}).items()], "Returns": [returns]}
    sections = ("\n            ".join((f"        {title}:", *lines)) for title, lines in named.items() if lines)
    return "\n\n".join((does, *sections)) + "\n        "


for _name, _told in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items():
    getattr(CommandTools, _name).__doc__ = _docstring(**_told)
