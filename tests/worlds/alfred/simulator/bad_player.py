"""A player that answers like the stand-in until the first turn to the right, and then does as its argument says.

``hang`` answers nothing, ``die`` ends, ``kill`` kills the process that it serves, ``lie`` says of its objects what nobody can
read, ``babble`` speaks another protocol, ``skip`` answers another action, ``shrink`` sends images of one pixel. With a file
behind it, it does so once, and writes there which process it was.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from housequest.worlds.alfred.player import CLIENT_PIPE, SERVER_PIPE, Player, read_action, scenes, write_answer
from housequest.worlds.registry import make_world


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
                    agent = metadata["agents"][0]
                    match how:
                        case "die":
                            sys.exit(7)
                        case "kill":
                            os.kill(os.getppid(), signal.SIGKILL)
                            time.sleep(3600)
                        case "hang":
                            time.sleep(3600)
                        case "babble":
                            answers.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                        case "skip":
                            metadata["sequenceId"] += 1
                        case "shrink":
                            pixels = agent["screenWidth"] * agent["screenHeight"]
                            agent.update(screenWidth=1, screenHeight=1)
                            images = [(image, body[: len(body) // pixels]) for image, body in images]
                        case _:
                            agent["objects"][0]["position"] = "everywhere"
                write_answer(answers, metadata, images)


if __name__ == "__main__":
    how, *more = sys.argv[1:]  # the client adds options of its own
    main(how, more[0] if more and not more[0].startswith("-") else "")
