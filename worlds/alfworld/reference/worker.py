"""The program in which the reference game runs, alone: ``python -m worlds.alfworld.reference.worker``.

It is a worker as `worlds.workers` has it. ``{"do": "load", "problem": ..., "domain": ..., "grammar": ...}`` loads a game and
starts it, ``{"do": "reset"}`` starts it again, ``{"do": "step", "command": ...}`` plays; each is answered by
``{"text": ..., "won": ..., "commands": [...]}``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NoReturn

from worlds import workers
from worlds.alfworld.reference.packages import Material, Reference


def serve(make: Callable[[], Reference] = Reference) -> NoReturn:
    """Serve requests with the game that ``make`` makes, until the input ends."""

    def start(_first: object) -> tuple[None, workers.Handler]:
        game = make()

        def answer(request: dict[str, Any], _cancelled: threading.Event) -> dict[str, Any]:
            match request["do"]:
                case "load":
                    game.load(Material(request["problem"], request["domain"], request["grammar"]))
                    return asdict(game.reset())
                case "reset":
                    return asdict(game.reset())
                case "step":
                    return asdict(game.step(request["command"]))
                case other:
                    raise ValueError(f"no request {other!r}")

        return None, answer

    workers.serve(start)


if __name__ == "__main__":
    serve()
