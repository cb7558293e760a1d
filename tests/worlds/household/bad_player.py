"""A player that answers like the stand-in until the first step, and then does as its argument says.

``hang`` answers nothing, ``die`` ends, ``lie`` says of its objects what nobody can read, ``kill`` kills the process that it
serves. With a file behind it, it does so once, and writes there which process it was.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from worlds.household.player import Player, scenes
from worlds.household.protocol import CLIENT_PIPE, SERVER_PIPE, read_action, write_answer
from worlds.registry import make_world


def main(how: str, once: str = "") -> None:
    world = make_world("alfworld")
    player = Player(world, scenes(world, []))
    with Path(os.environ[SERVER_PIPE]).open("wb") as answers:
        write_answer(answers, *player.first())
        with Path(os.environ[CLIENT_PIPE]).open("rb") as actions:
            while (action := read_action(actions)) is not None:
                metadata, images = player.answer(action)
                if action["action"] == "RotateRight" and not (once and Path(once).exists()):
                    if once:
                        Path(once).write_text(str(os.getpid()))
                    if how == "die":
                        sys.exit(7)
                    if how == "kill":
                        os.kill(os.getppid(), signal.SIGKILL)
                    if how in ("hang", "kill"):
                        time.sleep(3600)
                    metadata["agents"][0]["objects"][0]["position"] = "everywhere"
                write_answer(answers, metadata, images)


if __name__ == "__main__":
    how, *more = sys.argv[1:]  # the client adds options of its own
    main(how, more[0] if more and not more[0].startswith("-") else "")
