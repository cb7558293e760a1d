"""Two people in one house, over a local socket: they talk, go back, leave and come back; and hostile screens."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket as sockets
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from housequest.agent.config import Settings
from housequest.agent.episodes.events import Ended, Event, Intervened, Joined, Said, Started, Stepped, TurnSpent, branch
from housequest.agent.episodes.record import read_episode, whole_of
from housequest.agent.integrations.names import OwnNames
from housequest.tui.browser.guest_screen import GuestScreen
from housequest.tui.browser.guests import RoomServer
from housequest.tui.browser.room import LONGEST_COMMAND, LONGEST_FRAME, WISHES, GuestRoom, read_wish
from housequest.tui.browser.seat import Invitation, game_of
from housequest.tui.browser.serve import open_room
from housequest.tui.play.line import CommandLine
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.household.talk import LONGEST_SAID
from tests.tui.browser.test_serve import drawn, free_port
from tests.tui.conftest import COMMAND, Run, environment
from tests.tui.play.test_together import only_seen_by, things_in
from tests.tui.screen import press, running_text, screen_text, showing, type_in, until
from tests.waiting import PATIENCE, ending

pytestmark = pytest.mark.anyio
TASK = "chores:60001"


@dataclass
class Opened:
    """A served room, and the end of its game."""

    room: GuestRoom
    server: RoomServer
    game: asyncio.Future[Ended]

    def invitation(self, name: str) -> Invitation:
        return Invitation.read(self.server.addresses[name])

    @property
    def told(self) -> list[Event]:
        return self.room.told


@asynccontextmanager
async def opened(named: str = TASK, *, grace: float = 0.0, heartbeat: float = 15.0, **settings: Any) -> AsyncIterator[Opened]:
    room, model = open_room(named, Settings(**settings), {})
    assert model is None
    room.grace = grace
    server = RoomServer(room, [], OwnNames("127.0.0.1"), free_port(), most=4, heartbeat=heartbeat)
    listening, over = asyncio.Event(), asyncio.Event()
    game = asyncio.ensure_future(room.run(model))
    serving = asyncio.ensure_future(server.serve(listening.set, over))
    try:
        await asyncio.wait_for(listening.wait(), PATIENCE)
        yield Opened(room, server, game)
    finally:
        over.set()
        await serving
        await room.close()


@asynccontextmanager
async def screen_at(one: Opened, name: str, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot[Any]]:
    invitation = one.invitation(name)
    welcome = await invitation.accept()
    assert welcome.name == name
    app = showing(lambda: GuestScreen(game_of(welcome), invitation, name))
    async with app.run_test(size=size) as pilot:
        yield pilot


def on(pilot: Pilot[Any]) -> GuestScreen:
    return next(screen for screen in pilot.app.screen_stack if isinstance(screen, GuestScreen))


def text(pilot: Pilot[Any]) -> str:
    return running_text(pilot.app)


async def my_turn(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: on(pilot).session.status.waiting in {"turn", "over"})


async def plays(pilot: Pilot[Any], command: str) -> None:
    """Type a command in one's turn."""
    await my_turn(pilot)
    turn = on(pilot).play_state.state.moment.turn
    if not on(pilot).query_one(CommandLine).has_focus_within:
        await press(pilot, "colon")
    await type_in(pilot, command)
    await until(
        pilot,
        lambda: on(pilot).play_state.state.moment.turn > turn or on(pilot).session.status.waiting in {"over", "closed"},
    )


async def both(ann: Pilot[Any], bob: Pilot[Any], hers: str, his: str) -> None:
    """Play a round."""
    await asyncio.gather(plays(ann, hers), plays(bob, his))


async def plays_beside(pilot: Pilot[Any], command: str, other: Pilot[Any]) -> None:
    """Play a turn, whenever it comes, while the other waits."""
    playing = asyncio.ensure_future(plays(pilot, command))
    while not playing.done():
        await (plays(other, "wait") if on(other).session.status.waiting == "turn" else other.pause(0.01))
    await playing


@pytest.mark.parametrize("size", [(80, 24), *(pytest.param(size, marks=pytest.mark.heavy) for size in ((120, 40), (200, 60)))])
async def test_two_people_play_talk_and_see_their_own_seat_only(size: tuple[int, int]) -> None:
    async with opened() as one, screen_at(one, "Ann", size) as ann:
        await until(ann, lambda: "waiting for Bob to come" in text(ann))
        async with screen_at(one, "Bob", size) as bob:
            await both(ann, bob, "go to diningtable 1", "go to sofa 1")
            # In anybody's turn, both speak and hear each other at once.
            await type_in(bob, "I do the pillow")
            await type_in(ann, "and I the book")
            await until(bob, lambda: {"Ann", "Bob"} == {event.player for event in one.told if isinstance(event.body, Said)})
            await both(ann, bob, "take book 2 from diningtable 1", "take box 2 from sofa 1")
            await both(ann, bob, "wait", "wait")
            for pilot, own, other in ((ann, "and I the book", "I do the pillow"), (bob, "I do the pillow", "and I the book")):
                assert own in text(pilot)
                assert other in text(pilot)
            for pilot, other in ((ann, "Bob"), (bob, "Ann")):
                hidden = only_seen_by(one.told, other)
                assert hidden, f"{other} saw something for himself"
                told_now = things_in(" ".join(note.text for note in on(pilot).play_state.state.moment.notes))
                assert not hidden & things_in(screen_text(pilot.app)) - told_now
            waits = next(pilot for pilot in (ann, bob) if on(pilot).session.status.waiting != "turn")
            assert f"{'Bob' if waits is ann else 'Ann'} is deciding" in text(waits)
            turn = on(waits).play_state.state.moment.turn
            await type_in(waits, "inventory")
            await until(waits, lambda: "inventory: it is played in your turn." in text(waits))
            await type_in(waits, "look")
            await until(waits, lambda: "look: it is played in your turn, instead of inventory." in text(waits))
            await plays(bob if waits is ann else ann, "look")
            await until(waits, lambda: on(waits).play_state.state.moment.turn > turn)
            await until(waits, lambda: "it is played in your turn" not in text(waits))


@pytest.mark.heavy
async def test_what_travels_to_a_seat_is_what_its_player_knows() -> None:
    async with opened() as one, screen_at(one, "Ann") as ann, screen_at(one, "Bob") as bob:
        await both(ann, bob, "go to diningtable 1", "go to sofa 1")
        await both(ann, bob, "take book 2 from diningtable 1", "take box 2 from sofa 1")
        await both(ann, bob, "wait", "wait")
        for name, other in (("Ann", "Bob"), ("Bob", "Ann")):
            place = one.room.places[name]
            sent = "\n".join((*place.log, place.status.model_dump_json()))
            own = [json.loads(frame)["event"] for frame in place.log]
            assert {event.get("player") for event in own} == {None, name}
            assert not any({"met", "conditions"} & set(event["body"]) for event in own)
            hidden = only_seen_by(one.told, other)
            assert hidden
            assert not hidden & things_in(sent) - things_in(" ".join(place.status.news))


@pytest.mark.heavy
async def test_both_go_back_if_the_other_agrees() -> None:
    async with opened() as one, screen_at(one, "Ann") as ann, screen_at(one, "Bob") as bob:
        await both(ann, bob, "go to diningtable 1", "go to sofa 1")
        await both(ann, bob, "wait", "wait")
        one.room.consent_seconds = PATIENCE
        for agrees in (False, True):
            await asyncio.gather(press(ann, "escape"), press(bob, "escape"))
            await press(ann, "left", "b")
            await until(bob, lambda: "Ann asks to go back to the end of round 1, with you" in text(bob))
            await press(bob, *(["enter"] if agrees else ["down", "enter"]))
            wanted = "Bob goes back with you." if agrees else "You go on: the other does not want to go back."
            await until(ann, lambda wanted=wanted: wanted in ann.app.told)
        await until(ann, lambda: any(isinstance(event.body, Intervened) for event in one.told))
        await until(ann, lambda: on(ann).play_state.state.moment.turn == 1 == on(bob).play_state.state.moment.turn)
        assert [event.body.action for event in one.told if isinstance(event.body, Intervened)][-1:] == ["rewind"]
        await both(ann, bob, "take book 2 from diningtable 1", "take box 2 from sofa 1")
        deeds = [event.body.command for event in branch(one.told) if isinstance(event.body, Stepped) and event.body.turn == 2]
        assert sorted(deeds) == ["take book 2 from diningtable 1", "take box 2 from sofa 1"]
        # No answer in time is a no.
        one.room.consent_seconds = 0.0
        await press(ann, "escape", "left", "b")
        await until(ann, lambda: ann.app.told.count("You go on: the other does not want to go back.") == 2)
        await until(bob, lambda: isinstance(bob.app.screen, GuestScreen))


@pytest.mark.heavy
async def test_an_agent_plays_for_who_left_and_the_game_goes_on_from_its_record(tmp_path: Path) -> None:
    async with opened() as one, screen_at(one, "Ann") as ann:
        async with screen_at(one, "Bob") as bob:
            await both(ann, bob, "go to diningtable 1", "go to sofa 1")
        for _ in range(4):
            await plays(ann, "wait")
        await until(ann, lambda: "has left; an agent plays on" in text(ann))
        spent = [event.body.reason for event in one.told if event.player == "Bob" and isinstance(event.body, TurnSpent)]
        assert spent == ["waited"] * 3
        async with screen_at(one, "Bob") as bob:
            # The same invitation leads to the same seat, with all that happened there.
            await plays_beside(bob, "look", ann)
            await until(bob, lambda: "you play again" in text(bob))
            await until(ann, lambda: "Bob is back." in text(ann))
            assert "go to sofa 1" in text(bob)
            assert "the expert plays while you are away" in text(bob)
            joined = [event.body.agent for event in one.told if isinstance(event.body, Joined)]
            assert joined == ["expert", "human"]
            told = [*one.told]
    record = one.room.record
    assert record is not None
    part = record.with_name(f"{record.name}.part")
    async with opened(str(part)) as again, screen_at(again, "Ann") as ann, screen_at(again, "Bob") as bob:
        await until(ann, lambda: on(ann).play_state.state.moment.turn >= 5)
        assert "has left; an agent plays on" in text(ann)
        await plays_beside(bob, "look", ann)
        assert again.told[: len(told)] == told
    begun = [event for event in read_episode(part) if isinstance(event, Event)]
    assert begun[: len(told)] == told
    assert len(begun) > len(told)


@pytest.mark.heavy
async def test_a_game_is_won_and_ends_when_both_have_left() -> None:
    async with opened(seed=1) as one, screen_at(one, "Ann") as ann:
        async with screen_at(one, "Bob"):
            await my_turn(ann)
        while on(ann).session.status.waiting != "over":
            await plays(ann, "wait")
        await until(ann, lambda: "Knowing the house" in text(ann))
        assert re.search(r"Won in \d+ rounds together\.", text(ann))
        assert re.search(r"You: 0 goals, .* Bob: 4 goals, ", text(ann))
        for key, why in (("n", "in a remote room"), ("p", "nothing to replay")):
            await press(ann, key)
            assert why in ann.app.told[-1]
        assert not one.game.done()
        record = one.room.record
    assert record is not None
    ended = await one.game
    assert ended.outcome == "won"
    whole = [event for event in read_episode(whole_of(record)) if isinstance(event, Event)]
    assert isinstance(whole[-1].body, Ended)
    start = whole[0].body
    assert isinstance(start, Started)
    assert [(player.name, player.agent, player.stand_in) for player in start.players or ()] == [
        ("Ann", "human", "expert"),
        ("Bob", "human", "expert"),
    ]


@asynccontextmanager
async def client(one: Opened, secret: str = "") -> AsyncIterator[Any]:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    async with aiohttp.ClientSession(headers=headers, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


def token(one: Opened, name: str) -> str:
    return one.server.addresses[name].rpartition("=")[2]


async def asked(session: Any, one: Opened, method: str, path: str, **more: Any) -> tuple[int, str]:
    async with session.request(method, f"{one.server.base}{path}", allow_redirects=False, **more) as answer:
        return answer.status, await answer.text()


async def test_an_invitation_is_good_for_one_seat_and_one_person() -> None:
    async with opened() as one:
        address, mine = f"/?token={token(one, 'Bob')}", "k" * 32
        async with client(one) as session:
            for method, path in (("GET", "/?token=wrong"), ("GET", "/"), ("GET", "/seat"), ("POST", "/seat"), ("GET", "/ws"),
                                 ("GET", "/static/js/textual.js"), ("GET", "/?token=%ff%00"), ("POST", "/")):  # fmt: skip
                status, said = await asked(session, one, method, path)
                assert status == 403, (method, path)
                assert token(one, "Ann") not in said and token(one, "Bob") not in said
            # Only looking at the link, as mail programs do, does not use it.
            for _ in range(3):
                status, page = await asked(session, one, "GET", address)
                assert (status, "Take the seat" in page) == (200, True)
        async with client(one, token(one, "Bob")) as session:
            for key in ("", "short", "k" * 65, "kkkkkkkkkkkkkkkkkkkkkk kk", "é" * 32):
                assert (await asked(session, one, "POST", "/seat", data=key.encode()))[0] in {400, 403}
            for _ in range(2):  # who loses the answer asks again
                status, said = await asked(session, one, "POST", "/seat", data=mine.encode())
                assert (status, json.loads(said)["name"]) == (200, "Bob")
            status, said = await asked(session, one, "POST", "/seat", data=b"o" * 32)
            assert (status, "taken this seat already" in said) == (403, True)
        async with client(one) as session:
            assert (await asked(session, one, "GET", address))[0] == 403
            status, said = await asked(session, one, "POST", "/", data={"token": token(one, "Bob")})
            assert (status, "taken this seat already" in said) == (403, True)
            # The other invitation is a browser's.
            status, _ = await asked(session, one, "POST", "/", data={"token": token(one, "Ann")})
            assert status == 303
            status, page = await asked(session, one, "GET", "/")
            assert (status, "/ws" in page) == (200, True)
            (cookie,) = session.cookie_jar
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
            foreign = {"Origin": "http://example.org"}
            assert (await asked(session, one, "POST", "/", headers=foreign, data={"token": token(one, "Ann")}))[0] == 403
        with pytest.raises(ConfigurationError, match="taken this seat already"):
            await one.invitation("Bob").accept()


FRAMES = (
    "garbage",
    "{}",
    "[]",
    "[" * 5_000,
    '{"kind":"play"}',
    '{"kind":"play","command":5}',
    '{"kind":"play","command":"look","by":"Ann"}',
    json.dumps({"kind": "play", "command": "x" * (LONGEST_COMMAND + 1)}),
    '{"kind":"back","to":1e99}',
    '{"kind":"patience","seconds":0}',
    '{"kind":"patience","seconds":NaN}',
    '{"kind":"quit"}',
    '{"kind":"say","text":"\\ud800"}',
    b"bytes",
)


@pytest.mark.heavy
async def test_a_screen_that_sends_what_no_screen_does_is_shut_out_and_may_come_back() -> None:
    async with opened(grace=PATIENCE) as one, screen_at(one, "Ann") as ann, client(one, "k" * 32) as session:
        async with client(one, token(one, "Bob")) as taking:
            assert (await asked(taking, one, "POST", "/seat", data=b"k" * 32))[0] == 200
        for frame in (*FRAMES, "x" * (LONGEST_FRAME + 1)):
            async with session.ws_connect(f"{one.server.base}/seat") as opened_at:
                await (opened_at.send_bytes(frame) if isinstance(frame, bytes) else opened_at.send_str(frame))
                async with asyncio.timeout(PATIENCE):
                    async for _ in opened_at:
                        pass
                assert opened_at.close_code in {1003, 1009}, frame
        # One that goes in the middle of its turn, and one that is replaced by another window.
        async with (
            session.ws_connect(f"{one.server.base}/seat") as first,
            session.ws_connect(f"{one.server.base}/seat") as second,
        ):
            async with asyncio.timeout(PATIENCE):
                async for _ in first:
                    pass
            assert first.close_code == 1001
            wishes = (
                {"kind": "back", "to": 99},
                {"kind": "consent", "yes": True},
                {"kind": "retry"},
                {"kind": "say", "text": "\x1b[31m" + "w" * 900},
                {"kind": "play", "command": "\x1b[2J dance\n"},
            )
            for wish in wishes:
                await second.send_str(json.dumps(wish))
            await plays(ann, "wait")
        await until(ann, lambda: sum(event.player == "Bob" for event in one.told) >= 2)
        (said,) = [event.body.text for event in one.told if isinstance(event.body, Said)]
        assert len(said) <= LONGEST_SAID
        assert said.isprintable()
        async with session.ws_connect(f"{one.server.base}/seat") as back, asyncio.timeout(PATIENCE):
            frames = [json.loads((await back.receive()).data) for _ in range(3)]
            assert frames[0]["kind"] == "event"


@pytest.mark.heavy
async def test_one_who_stalls_holds_nobody_up_and_is_taken_for_gone() -> None:
    async with opened(heartbeat=0.5) as one, screen_at(one, "Ann") as ann:
        async with client(one, token(one, "Bob")) as taking:
            assert (await asked(taking, one, "POST", "/seat", data=b"k" * 32))[0] == 200
        with sockets.create_connection(("127.0.0.1", one.server.port)) as stalled:
            stalled.sendall(
                b"GET /seat HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + b"k" * 32 + b"\r\nUpgrade: websocket\r\n"
                b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            )
            await my_turn(ann)
            for _ in range(5):
                await plays(ann, "wait")
        assert any(isinstance(event.body, Joined) for event in one.told)


NAMES = st.sampled_from(["kind", "command", "text", "to", "yes", "seconds", "play", "say", "back"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NAMES | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@given(st.text(max_size=300) | st.binary(max_size=300) | JSON.map(json.dumps))
def test_a_frame_is_a_wish_or_refused(frame: object) -> None:
    try:
        wish = read_wish(frame)
    except ValueError:
        return
    assert WISHES.validate_json(wish.model_dump_json()) == wish


@pytest.mark.heavy
def test_a_browser_and_a_terminal_play_in_real_processes(tmp_path: Path) -> None:
    port, home = free_port(), {"HOUSEQUEST_HOME": str(tmp_path)}
    serve = [*COMMAND, "serve", "--port", str(port), "--together"]

    def started(*command: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=tmp_path, env=environment(**home), text=True, stdin=pipe, stdout=pipe, stderr=pipe)

    def invitations(process: subprocess.Popen[str]) -> dict[str, str]:
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(3)]
        found = [re.fullmatch(rf"(\w+) plays at (http://127\.0\.0\.1:{port}/\?token=\S{{32}})\n", line) for line in lines[:2]]
        assert "Each address is for one person" in lines[2], lines
        return {one[1]: one[2] for one in found if one is not None}

    async def in_browser(url: str, terminal: subprocess.Popen[str]) -> str:
        assert terminal.stdin is not None
        base, _, token = url.partition("/?token=")
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            async with session.post(f"{base}/", data={"token": token}) as answer:
                assert f"ws://127.0.0.1:{port}/ws" in await answer.text()
            async with session.ws_connect(f"{base}/ws?width=100&height=30", origin=base) as opened_at:
                seen = await drawn(opened_at, "hello from the terminal")
                await asyncio.sleep(2)  # what is typed while a screen opens is dropped, until nothing is typed for a second
                await opened_at.send_str(json.dumps(["stdin", "say hello from the browser\r"]))
                for _ in range(2):  # in the line, and then in the story
                    seen += await drawn(opened_at, "hello from the browser")
                await opened_at.send_str(json.dumps(["stdin", "go to sofa 1\r"]))
                return seen + await drawn(opened_at, "creditcard 3")

    with ending(started(*serve, TASK), 4 * PATIENCE) as room:
        addresses = invitations(room)
        with ending(started(*COMMAND, "join", addresses["Ann"], "--plain"), 4 * PATIENCE) as ann:
            assert ann.stdin is not None and ann.stdout is not None
            ann.stdin.write("help\nsay hello from the terminal\ngo to diningtable 9\n")
            ann.stdin.flush()
            assert "TOGETHER" in asyncio.run(in_browser(addresses["Bob"], ann))
            heard = ""
            while "hello from the browser" not in heard:
                heard += (line := ann.stdout.readline())
                assert line, heard
            ann.stdin.write(":quit\n")
            ann.stdin.close()
            assert ann.wait(PATIENCE) == 0
            rest = heard + ann.stdout.read()
            assert 'You say: "hello from the terminal"' in rest
            assert "give OBJECT to NAME" in rest
            assert "No 'diningtable 9' is known in this house." in rest
            assert "creditcard 3" not in rest, "only Bob has seen it"
        # Somebody else cannot take a seat that was taken.
        taken = [*COMMAND, "join", addresses["Bob"]]
        other = subprocess.run(
            taken, check=False, cwd=tmp_path, env=environment(**home), timeout=PATIENCE, capture_output=True, text=True
        )
        assert (other.returncode, "taken this seat already" in other.stderr) == (2, True)
        room.send_signal(signal.SIGINT)
        _, said = room.communicate(timeout=PATIENCE)
        assert room.returncode == 0, said
        (part,) = re.findall(r"Recorded as far as it went in (\S+)", said)
    with ending(started(*serve, part), 2 * PATIENCE) as again:
        assert set(invitations(again)) == {"Ann", "Bob"}
        again.send_signal(signal.SIGINT)
        assert again.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("serve", "--together", TASK, "--", "--agent", "human"), "An agent plays for people who leave"),
        (("serve", "--together", TASK, "--", "--mode", "watch"), "leave it out"),
        (("serve", "--together", "demo:1", "--", "--world", "scripted"), "for one player alone"),
        (("serve", "--together", "nowhere.part"), "nowhere.part"),
        (("join", "nonsense"), "is not an invitation"),
        (("join", "ftp://host/?token=x"), "is not an invitation"),
        (("join", "http://127.0.0.1:9/?token=x", "--moves", "off", "--pixels", "blocks"), "cannot be reached"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str, ...], why: str, call: Run) -> None:
    done = call(*arguments)
    assert done.returncode == 2
    assert why in done.stderr


_LINES = """
import asyncio
from housequest.tui.browser.guest_plain import typed_lines

async def show():
    lines = typed_lines()
    while True:
        print(line := await lines.get(), flush=True)
        if line is None:
            break

asyncio.run(show())
"""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_that_is_closed_ends_the_lines_that_are_typed() -> None:
    ours, theirs = os.openpty()
    program, pipe = [sys.executable, "-c", _LINES], subprocess.PIPE
    with subprocess.Popen(program, stdin=theirs, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as reader:
        os.close(theirs)
        os.write(ours, b"look\n")
        assert reader.stdout is not None
        assert reader.stdout.readline() == "look\n"
        os.close(ours)
        out, errors = reader.communicate(timeout=PATIENCE)
    assert (out, errors) == ("None\n", "")
