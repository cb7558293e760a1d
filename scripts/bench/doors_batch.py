"""Many games at once, timed in a process of its own: ``GAMES GROUP``. Its last line is JSON. See `doors`."""

from __future__ import annotations

import json
import random
import sys
from time import process_time

from housequest.worlds.alfworld.games import GAME_FILE, LAYOUT
from housequest.worlds.dropin.groups import AlfworldEnvs
from housequest.worlds.paths import alfworld_data
from scripts.memory import peak

STEPS = 45
RESETS = 3


def main(games: int, group: int) -> None:
    files = sorted(map(str, (alfworld_data() / LAYOUT / "train").glob(f"*/*/{GAME_FILE}")))
    before = peak()
    # As many games as are played over all resets, so that the last reset has seen its games.
    envs = AlfworldEnvs(files[: max(games // group, 1)], 1, games // group, group)
    began = process_time()
    _, _, infos = envs.reset()
    resets = [process_time() - began]
    for _ in range(RESETS - 1):
        began = process_time()
        _, _, infos = envs.reset()
        resets.append(process_time() - began)
    chance, spent, played = random.Random(1), 0.0, 0
    for _ in range(max(STEPS, 2_000 // games)):
        began = process_time()
        commands = [chance.choice(info["admissible_commands"]) for info in infos]
        _, _, _, dones, infos = envs.step(commands)
        spent, played = spent + process_time() - began, played + games - sum(dones)
        if all(dones):
            _, _, infos = envs.reset()
    memory = (peak() - before) / games
    told = {"steps": played / spent, "first": 1_000 * resets[0] / games, "reset": 1_000 * resets[-1] / games, "memory": memory}
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
