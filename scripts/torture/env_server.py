"""An environment server among rude clients: whatever they do, it does not grow, and a good client plays its game to the end."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

import aiohttp

from scripts.torture.doors import PLAN, TASK, Client, garbage, half, huge
from scripts.torture.kills import AT_ONCE, until
from scripts.torture.program import Process
from scripts.torture.trial import FINISHED, Trial

SESSIONS = 16
IDLE = 3.0
"""Seconds after which the server ends a session that nobody uses."""

MOST_GROWN = 64 << 20
"""Bytes by which the server may grow: its sessions take some 90 kB each."""

PATIENCE = 60.0
"""Seconds in which a good client gets a session and an answer, on a machine that is busy."""

_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+) ")
_HELLO = (
    b"GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
_TEXT, _MASKED = b"\x81", 0x80


async def _say(socket: aiohttp.ClientWebSocketResponse, kind: str, **data: object) -> Mapping[str, Any]:
    """The answer to a message; empty where the connection was closed instead."""
    await socket.send_json({"type": kind, "data": data} if data or kind == "reset" else {"type": kind})
    said = await socket.receive()
    return json.loads(said.data) if said.type is aiohttp.WSMsgType.TEXT else {}


class Rude:
    """What a client does that is none. What it opens stays open until the good client has played."""

    def __init__(self, trial: Trial, port: int, http: aiohttp.ClientSession, held: AsyncExitStack) -> None:
        self.trial, self.port, self.http, self.held = trial, port, http, held

    async def raw(self, said: bytes) -> asyncio.StreamWriter:
        """Send bytes over a connection of their own, which stays open."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.held.callback(writer.close)
        with suppress(ConnectionError):
            writer.write(said)
            await writer.drain()
        return writer

    async def garbage(self) -> None:
        """Bytes that are no request."""
        await garbage(self.trial, Client(self.port))

    async def half(self) -> None:
        """Requests that never end."""
        await half(self.trial, Client(self.port))

    async def half_open(self) -> None:
        """WebSockets on which half a message comes, and the rest never."""
        for _ in range(200):
            await self.raw(
                _HELLO + _TEXT + bytes([_MASKED | 126]) + (50_000).to_bytes(2, "big") + self.trial.chance.randbytes(99)
            )

    async def silent(self) -> None:
        """Sessions, all that there are, in which nobody ever steps."""
        for number in range(SESSIONS):
            if number % 2:
                async with self.http.post("/create") as answer:
                    await answer.read()
            else:
                await _say(await self.held.enter_async_context(self.http.ws_connect("/ws")), "reset")

    async def crowd(self) -> None:
        """Thousands of sessions: those that find no room are told so in words."""
        refused = 0

        async def come() -> None:
            nonlocal refused
            async with self.http.ws_connect("/ws") as socket:
                refused += (await _say(socket, "state")).get("data", {}).get("code") == "CAPACITY_REACHED"

        for _ in range(40):
            with suppress(aiohttp.ClientError):
                await asyncio.gather(*(come() for _ in range(50)))
        for _ in range(2_000):
            async with self.http.post("/create") as answer:
                refused += answer.status == 503 and "limit" in (await answer.json())["error"]
        if refused < 1_000:  # those that nobody uses end meanwhile, and make room
            self.trial.fault("wrong class", f"of 4,000 sessions, {refused} were refused")

    async def oversized(self) -> None:
        """Messages and requests of megabytes, and frames that say that they are larger still."""
        async with self.http.ws_connect("/ws", max_msg_size=0) as socket:
            if await _say(socket, "step", command="x" * (1 << 20)):
                self.trial.fault("wrong class", "a message of a megabyte was taken")
        await huge(self.trial, Client(self.port, path="/step"))
        for _ in range(50):
            await self.raw(_HELLO + _TEXT + bytes([_MASKED | 127]) + (1 << 62).to_bytes(8, "big") + bytes(70_000))

    async def damaged(self) -> None:
        """Messages that are no JSON or make no sense: each is answered in words, and the session goes on."""
        wrong = (b"", b"null", b"[" * 50_000, b'"\\ud800"', b'{"type": "reset", "data": {"seed": -1}}', b'{"type": "fly"}')
        async with self.http.ws_connect("/ws") as socket:
            for message in (*wrong, *(self.trial.chance.randbytes(60) for _ in range(200))):
                await socket.send_bytes(message)
                said = await socket.receive()
                if said.type is not aiohttp.WSMsgType.TEXT or len(json.loads(said.data)["data"].get("message", "")) < 10:
                    self.trial.fault("wrong class", f"{message[:40]!r} was answered by {said!r}")
                    return
            if (await _say(socket, "reset")).get("type") != "observation":
                self.trial.fault("lost", "the session did not go on after damaged messages")
        for _ in range(100):
            await self.raw(_HELLO + self.trial.chance.randbytes(300))

    async def killed(self) -> None:
        """Clients that die while they are answered."""
        step = json.dumps({"type": "reset", "data": {}}).encode()
        for _ in range(200):
            writer = await self.raw(_HELLO + _TEXT + bytes([_MASKED | len(step)]) + bytes(4) + step)
            await asyncio.sleep(self.trial.chance.random() * 0.02)
            writer.transport.abort()

    async def deaf(self) -> None:
        """Clients that ask without end, and never read an answer."""
        ask = json.dumps({"type": "state"}).encode()
        frame = _TEXT + bytes([_MASKED | len(ask)]) + bytes(4) + ask
        for _ in range(4):
            writer = await self.raw(_HELLO)
            with suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(3.0):
                    while True:
                        writer.write(frame * 1_000)
                        await writer.drain()

    async def foreign(self) -> None:
        """Requests as a web page would send them that is shown in a browser on this machine."""
        for origin in ("http://evil.example", "null", f"http://localhost:{self.port + 1}"):
            with suppress(aiohttp.WSServerHandshakeError):
                async with self.http.ws_connect("/ws", origin=origin):
                    self.trial.fault("outside", f"a page of {origin} has a session")
            async with self.http.post("/create", headers={"Origin": origin}) as answer:
                if answer.status < 400:
                    self.trial.fault("outside", f"answered {answer.status} to a page of {origin}")

    async def strange_names(self) -> None:
        """Requests under names that come to mean this machine, on every route."""
        async with self.http.get("/openapi.json") as answer:
            paths: Mapping[str, Mapping[str, object]] = (await answer.json())["paths"]
        for path, methods in paths.items():
            for method in methods:
                for name in ("evil.example", f"evil.example:{self.port}", "127.0.0.1.evil.example"):
                    async with self.http.request(method, path, headers={"Host": name}, json={}) as answer:
                        if answer.status != 421:
                            self.trial.fault("outside", f"answered {answer.status} at {path} under the name {name}")


RUDE: Mapping[str, Callable[[Rude], Awaitable[None]]] = {
    "thousands of sessions": Rude.crowd,
    "half-open connections": Rude.half_open,
    "sessions that never step": Rude.silent,
    "oversized messages": Rude.oversized,
    "damaged messages": Rude.damaged,
    "killed clients": Rude.killed,
    "clients that never read": Rude.deaf,
    "garbage": Rude.garbage,
    "half requests": Rude.half,
    "foreign pages": Rude.foreign,
    "strange names": Rude.strange_names,
}


async def env_server(trial: Trial) -> None:
    """Attack the server, then play a game as one should by each protocol, look at its memory, and leave with Ctrl-C."""
    trial.about = tuple(RUDE)[trial.number % len(RUDE)]

    async def attacked(process: Process, port: int, http: aiohttp.ClientSession) -> None:
        async with AsyncExitStack() as held:
            await _good(trial, http)
            before = process.memory
            await RUDE[trial.about](Rude(trial, port, http, held))
            grown = process.memory - before
            await _good(trial, http)
            if grown > MOST_GROWN:
                trial.fault("grown", f"by {grown >> 20} MiB")

    await _serving(trial, IDLE, attacked)


async def isolation(trial: Trial) -> None:
    """Several clients of both protocols play at once, while a stranger tries ids and leaves nothing out; none notices it."""
    players, guesses = trial.chance.randint(2, 6), trial.chance.randint(50, 300)
    trial.about = f"{players} clients of each protocol, {guesses} guesses"

    async def attacked(_: Process, port: int, http: aiohttp.ClientSession) -> None:
        alone = await _agentgym(http), await _openenv(http)
        games = [*(_agentgym(http) for _ in range(players)), *(_openenv(http) for _ in range(players))]
        playing = asyncio.gather(*games)
        await _guess(trial, http, guesses)
        told = await playing
        for number, one in enumerate(told):
            if one != alone[number >= players]:
                trial.fault("lost", f"client {number} was told otherwise than alone, at the end {one[-1]}")
        if alone[1][-1][1] is not True:
            trial.fault("lost", "nobody won the game")

    await _serving(trial, PATIENCE, attacked)


async def _agentgym(http: aiohttp.ClientSession) -> list[tuple[object, object]]:
    """What a client of AgentGym's is told in a game that it wins."""
    number = (await _ask(http, "/create"))["id"]
    opening = await _ask(http, "/reset", id=number, game=690)
    told: list[tuple[object, object]] = [(opening.get("observation"), opening.get("error"))]
    for command in PLAN:
        said = await _ask(http, "/step", id=number, action=command)
        told.append((said.get("observation"), said.get("done")))
        await asyncio.sleep(0.02)  # so that strangers meet games that are played
    await _ask(http, "/close", id=number)
    return told


async def _openenv(http: aiohttp.ClientSession) -> list[tuple[object, object]]:
    """What a client of OpenEnv's is told in the same game."""
    async with http.ws_connect("/ws") as socket:
        said = [await _say(socket, "reset", task=TASK)]
        for command in PLAN:
            said.append(await _say(socket, "step", command=command))
            await asyncio.sleep(0.02)
    return [(each["data"].get("observation", {}).get("text"), each["data"].get("done")) for each in said]


async def _guess(trial: Trial, http: aiohttp.ClientSession, guesses: int) -> None:
    """Try ids that a stranger would try: small ones, those beside its own, and any."""
    own = (await _ask(http, "/create"))["id"]
    chance = trial.chance
    for number in range(guesses):
        guess = (number, own + chance.choice((-1, 1)) * chance.randint(1, 99), chance.getrandbits(62))[number % 3]
        path = chance.choice(("/step", "/close", "/reset"))
        said = await _ask(http, path, id=guess, action="look", game=0)
        async with http.get("/detail", params={"id": str(guess)}) as answer:
            seen = await answer.json()
        if "error" not in said or "error" not in seen:
            trial.fault("outside", f"{path} with the guessed id {guess} was answered: {said}, {seen}")


async def _serving(trial: Trial, idle: float, attack: Callable[[Process, int, aiohttp.ClientSession], Awaitable[None]]) -> None:
    """Start the server, attack it, and leave with Ctrl-C."""
    limits = ("--sessions", str(SESSIONS), "--idle", str(idle))
    process = await trial.program.start(("env-server", "--split", "generated", "--port", "0", *limits))
    try:
        await until(lambda: _ADDRESS.search(process.heard) is not None or process.over)
        if (found := _ADDRESS.search(process.heard)) is None:
            trial.expect(await process.outcome(), FINISHED)
            return
        try:
            async with asyncio.timeout(2 * PATIENCE), aiohttp.ClientSession(f"http://127.0.0.1:{found[1]}") as http:
                await attack(process, int(found[1]), http)
        except (OSError, aiohttp.ClientError) as error:
            trial.fault("hung", f"a good client was not served: {error!r}")
        process.send(signal.SIGINT)
    finally:
        done = await process.outcome(AT_ONCE)
    trial.expect(done, FINISHED)


async def _good(trial: Trial, http: aiohttp.ClientSession) -> None:
    """Win a game by OpenEnv's protocol, and begin one by AgentGym's requests; where there is no room, wait for it."""
    last: Mapping[str, Any] = {}
    while not last:
        async with http.ws_connect("/ws") as socket:
            opening = await _say(socket, "reset", task=TASK)
            if opening.get("type") == "observation":
                *_, last = [await _say(socket, "step", command=command) for command in PLAN]
            else:
                await asyncio.sleep(0.2)
    if last.get("data", {}).get("reward") != 1.0:
        trial.fault("lost", f"a good client did not win: {last}")
    number: object = None
    while number is None:
        if (number := (await _ask(http, "/create")).get("id")) is None:
            await asyncio.sleep(0.2)
    await _ask(http, "/reset", id=number, game=1)
    told = await _ask(http, "/step", id=number, action="look")
    await _ask(http, "/close", id=number)
    if not told.get("observation", "").startswith("You are"):
        trial.fault("lost", f"a good client of AgentGym's was not served: {told}")


async def _ask(http: aiohttp.ClientSession, path: str, **body: object) -> Mapping[str, Any]:
    async with http.post(path, json=body) as answer:
        return await answer.json()
