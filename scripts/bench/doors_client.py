"""A random player in many sessions of an environment server: ``ADDRESS SESSIONS STEPS``. Its last line is JSON. See `doors`.

It plays by OpenEnv's own client where that is installed, else by the same messages over aiohttp's WebSocket. It imports nothing
of housequest.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from importlib import metadata
from time import perf_counter, process_time
from typing import Any


class _Plain:
    """The same messages as OpenEnv's client sends, and nothing else."""

    def __init__(self, base_url: str) -> None:
        self._address = f"{base_url}/ws"

    async def connect(self) -> None:
        import aiohttp

        self._session = aiohttp.ClientSession()
        self._socket = await self._session.ws_connect(self._address)

    async def reset(self) -> Any:
        return await self._said({"type": "reset", "data": {}})

    async def step(self, action: dict[str, str]) -> Any:
        return await self._said({"type": "step", "data": action})

    async def close(self) -> None:
        await self._socket.close()
        await self._session.close()

    async def _said(self, message: dict[str, Any]) -> Any:
        await self._socket.send_str(json.dumps(message))
        data = (await self._socket.receive_json())["data"]
        return _Result(data["observation"], data["done"])


class _Result:
    def __init__(self, observation: dict[str, Any], done: bool) -> None:
        self.observation = observation
        self.done = done


async def main(address: str, sessions: int, steps: int) -> None:
    try:
        from openenv.core import GenericEnvClient  # pyright: ignore

        make, name = GenericEnvClient, f"openenv {metadata.version('openenv')}"  # pyright: ignore
    except ImportError:
        make, name = _Plain, f"aiohttp {metadata.version('aiohttp')}"
    clients: list[Any] = [make(base_url=address) for _ in range(sessions)]
    await asyncio.gather(*(client.connect() for client in clients))
    results = list(await asyncio.gather(*(client.reset() for client in clients)))

    async def play(number: int) -> None:
        chance, client = random.Random(number), clients[number]
        for _ in range(steps):
            if results[number].done:
                results[number] = await client.reset()
            command = chance.choice(results[number].observation["admissible_commands"])
            results[number] = await client.step({"command": command})

    began, spent = perf_counter(), process_time()
    await asyncio.gather(*map(play, range(sessions)))
    played = sessions * steps
    took, spent = perf_counter() - began, process_time() - spent
    print(json.dumps({"client": name, "steps": played / took, "microseconds": 1e6 * spent / played}))
    await asyncio.gather(*(client.close() for client in clients))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
