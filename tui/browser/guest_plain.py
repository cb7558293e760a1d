"""A seat in a remote room, in plain text: it prints what happens as it comes, and takes a line at any time."""

from __future__ import annotations

import asyncio
import io
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

from housequest.agent.episodes.events import Stepped, TurnSpent
from housequest.tui import terminal
from housequest.tui.browser.room import LONGEST_COMMAND, Command, Consent, Happened, SeatStatus, Utterance
from housequest.tui.browser.seat import Invitation, SeatConnection, SeatMemory
from housequest.tui.play.company import words_in
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.plain import EventFormatter
from housequest.tui.play.typed import answer_about
from housequest.worlds.household.talk import LONGEST_SAID

LONGEST_LINE = 10_000


async def play_seat(game: ChosenGame, invitation: Invitation) -> None:
    """Play at a seat until the game is over, the room ends, or the person leaves."""
    await _PlainSeat(game, invitation).play()


class _PlainSeat:
    """Prints a seat; ``_held`` commands wait for their turn."""

    def __init__(self, game: ChosenGame, invitation: Invitation) -> None:
        self._game, self._layout = game, terminal.look()
        self._connection = SeatConnection(invitation)
        typed = terminal.interactive()
        self._formatter = EventFormatter(self._layout, typed=typed, whole=False, explaining=game.world)
        self._memory = SeatMemory(game.world.household)
        self._seat = SeatStatus()
        self._news: tuple[int, tuple[str, ...]] = (0, ())
        self._sent = 0
        self._held = deque[str]()
        self._over = asyncio.Event()
        self._free = asyncio.Event()

    async def play(self) -> None:
        room = asyncio.ensure_future(self._connection.run(self._told, lambda: terminal.note("The room cannot be reached.")))
        typing = asyncio.ensure_future(self._type())
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait((room, typing, over), return_when=asyncio.FIRST_COMPLETED)
            await self._connection.sent()
            if room.done():
                terminal.note(room.result())
        finally:
            for task in (room, typing, over):
                task.cancel()
            await asyncio.gather(room, typing, over, return_exceptions=True)
            await self._connection.close()

    def _told(self, told: SeatStatus | Happened) -> None:
        terminal.show(self._lines(told))
        self._play_held()

    def _lines(self, told: SeatStatus | Happened) -> Iterator[str]:
        if isinstance(told, Happened):
            event = self._memory.add(told.event)
            if event is None:
                return
            if isinstance(event.body, Stepped | TurnSpent):
                yield from self._fresh(event.body.turn, event.body.news or ())
                self._sent = event.body.turn  # a smaller number, if the game went back
            yield from self._formatter.lines(event)
            return
        before, self._seat = self._seat, told
        if told.note and told.noted != before.noted:
            yield from self._layout.wrapped(told.note, "     ")
        if told.asks and not before.asks:
            yield from self._layout.wrapped(
                f"{told.asks} asks to go back to the end of round {told.round}: yes or no?", "     "
            )
        if told.absent != before.absent and told.absent:
            yield from self._layout.wrapped(f"{' and '.join(told.absent)} is not there.", "     ")
        if told.waiting == "turn":
            yield from self._fresh(told.number, told.news)
            if before.waiting != "turn" and terminal.interactive():
                yield f"{told.number:>2} >"
        if told.waiting == "over" and told.shares:
            for share in told.shares:
                yield from self._layout.wrapped(share)
            self._over.set()

    def _fresh(self, number: int, news: tuple[str, ...]) -> Iterator[str]:
        """The part of a turn's ``news`` that was not printed yet."""
        known = self._news[1] if self._news[0] == number else ()
        self._news = number, max(known, news, key=len)
        for sentence in news[len(known) :]:
            yield from self._layout.painted("news", sentence, "     ", "       ")

    async def _type(self) -> None:
        """Carry out typed lines until the person leaves."""
        lines = typed_lines()
        while (line := await lines.get()) not in (None, ":quit", ":q"):
            self._do(line)
            self._play_held()
        while self._held and line is None:
            self._free.clear()
            await self._free.wait()

    def _do(self, line: str) -> None:
        seat, game = self._seat, self._game
        if seat.asks is not None and line.lower() in {"yes", "y", "no", "n"}:
            self._connection.send(Consent(yes=line.lower().startswith("y")))
        elif (answer := answer_about(line, game.task.goal, lambda: seat.possible, game.world, ["the other"])) is not None:
            terminal.show(["", *self._layout.wrapped(answer, "     "), ""] if answer else [])
        elif line not in (seat.possible or ()) and (said := words_in(line, game.world.household)) is not None:
            self._connection.send(Utterance(text=said[: 4 * LONGEST_SAID]))
        else:
            self._held.append(line)

    def _play_held(self) -> None:
        """Send the first typed command, once it is the person's turn."""
        if self._held and self._seat.waiting == "turn" and self._seat.number > self._sent:
            self._connection.send(Command(command=self._held.popleft()[:LONGEST_COMMAND]))
            self._sent = self._seat.number
            self._free.set()


def typed_lines() -> asyncio.Queue[str | None]:
    """The lines of standard input as they come, then None. A daemon thread reads them."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def tell(line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        # Not sys.stdin: a waiting thread would hold its lock when the program ends.
        with suppress(OSError), io.FileIO(sys.stdin.fileno(), closefd=False) as typed:  # a terminal that closes is an error
            kept = b""
            while data := typed.read(LONGEST_LINE):
                *whole, kept = (kept + data).split(b"\n")
                for line in whole:
                    tell(line.decode("utf-8", "replace").strip())
                kept = kept[:LONGEST_LINE]
        tell(None)

    Thread(target=read, daemon=True).start()
    return lines
