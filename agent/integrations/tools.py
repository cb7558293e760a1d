"""ALFWorld's commands as methods, for programs whose models call tools: types and docstrings tell a model how to call them.

Every public method is a tool, and nothing else is public, since some programs take all that they find. ``tools.toml`` has them.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any


class CommandTools(ABC):
    """Methods that each play one command and return what it was answered; a subclass says what playing is."""

    @abstractmethod
    def _play(self, command: str) -> str:
        """What ``command`` is answered."""


def _method(name: str, command: str, does: str, returns: str, arguments: dict[str, str]) -> Callable[..., str]:
    parameters = [Parameter(each, Parameter.POSITIONAL_OR_KEYWORD, annotation=str) for each in arguments]
    signature = Signature([Parameter("self", Parameter.POSITIONAL_ONLY), *parameters], return_annotation=str)

    def play(*given: Any, **named: Any) -> str:
        (tools, *words) = signature.bind(*given, **named).args
        return tools._play(command.format(**dict(zip(arguments, words, strict=True))))

    told = [("Args", [f"{each}: {about}" for each, about in arguments.items()]), ("Returns", [returns])]
    sections = (f"\n\n        {title}:" + "".join(f"\n            {line}" for line in lines) for title, lines in told if lines)
    play.__doc__ = f"{does}{''.join(sections)}\n        "
    play.__name__, play.__qualname__ = name, f"{CommandTools.__name__}.{name}"
    play.__annotations__ = {**dict.fromkeys(arguments, str), "return": str}
    vars(play)["__signature__"] = signature
    return play


for _name, _tool in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items():
    setattr(CommandTools, _name, _method(_name, _tool["command"], _tool["does"], _tool["returns"], _tool.get("arguments", {})))
