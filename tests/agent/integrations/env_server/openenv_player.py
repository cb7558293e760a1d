"""Plays by OpenEnv's own client, where that is installed: ``ADDRESS SESSIONS``, the second being as many as there may be."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from openenv.core import GenericEnvClient  # pyright: ignore

WAY = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")


def refusal(call: Any, *arguments: Any, **more: Any) -> str:
    try:
        call(*arguments, **more)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("it was not refused")


def alone(address: str) -> None:
    with GenericEnvClient(base_url=address).sync() as env:
        assert "reset it first" in refusal(env.step, {"command": "look"})
        opening = env.reset(task="demo:1", episode_id="mine")
        assert (opening.reward, opening.done) == (None, False)
        assert WAY[0] in opening.observation["admissible_commands"]
        *_, last = [env.step({"command": command}) for command in WAY]
        assert (last.reward, last.done, last.observation["won"]) == (1.0, True, True)
        assert env.state() == {"episode_id": "mine", "step_count": 6, "task": "demo:1", "seed": None}
        assert "VALIDATION_ERROR" in refusal(env.step, {"action": "look"})
        assert "There is no task 'demo:99'" in refusal(env.reset, task="demo:99")
        first = [env.reset(seed=5).observation["text"] for _ in range(2)]
        assert first[0] == first[1]


async def together(address: str, sessions: int) -> None:
    clients = [GenericEnvClient(base_url=address) for _ in range(sessions)]

    async def play(client: Any) -> float:
        await client.connect()
        await client.reset(task="demo:1")
        *_, last = [await client.step({"command": command}) for command in WAY]
        return last.reward

    assert await asyncio.gather(*map(play, clients)) == [1.0] * sessions
    late = GenericEnvClient(base_url=address)
    try:
        await late.reset()
    except RuntimeError as error:
        assert f"{sessions} sessions are open, which is the limit" in str(error), error
    else:
        raise AssertionError("one session too many")
    await clients[0].close()
    assert (await GenericEnvClient(base_url=address).reset()).done is False
    await asyncio.gather(*(client.close() for client in clients))


if __name__ == "__main__":
    alone(sys.argv[1])
    asyncio.run(together(sys.argv[1], int(sys.argv[2])))
    print("played")
