"""The screen of a seat in a remote room: an ordinary game's, and the room sends what its player knows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from textual.widgets import Input

from housequest.agent import base
from housequest.agent.episodes.emitter import wait_for_end
from housequest.agent.episodes.events import Joined, Stepped, TurnSpent, branch
from housequest.agent.setup import HUMAN
from housequest.tui.base_screen import PickDialog
from housequest.tui.browser.room import (
    LONGEST_COMMAND,
    Command,
    Consent,
    GoBack,
    Happened,
    Patience,
    Retry,
    SeatStatus,
    Typing,
    Utterance,
)
from housequest.tui.browser.seat import Invitation, SeatConnection, SeatMemory
from housequest.tui.play import live_screen
from housequest.tui.play.game import ChosenGame
from housequest.tui.play.screen import PlayScreen
from housequest.tui.play.session import Noticed, PlayMode, Session, SessionUpdate
from housequest.worlds.household.talk import LONGEST_SAID

_YES, _NO = "yes, go back", "no, go on"


class GuestSession(Session):
    """A game in a remote room: it sends the person's decisions there, and gets events from there."""

    own = False

    def __init__(
        self,
        game: ChosenGame,
        listener: Callable[[SessionUpdate], None],
        invitation: Invitation,
        name: str,
        note: Callable[[str], None],
    ) -> None:
        super().__init__(game, listener)
        self.seat = SeatStatus()
        """The latest status from the room."""
        self._connection = SeatConnection(invitation)
        self._memory = SeatMemory(game.world.household)
        self._me, self._note = name, note
        self._typed = False

    @property
    def partners(self) -> str:
        """The other players, with those who are not there."""
        players = (one.name for event in self.told[:1] for one in getattr(event.body, "players", None) or ())
        return " and ".join(f"{name} (away)" if name in self.seat.absent else name for name in players if name != self._me)

    @property
    def me(self) -> str | None:
        """The person's own name."""
        return self._me

    async def run(self) -> None:
        """Show the game until the room ends, or the screen leaves."""
        self._task = asyncio.current_task()
        try:
            self._set(trouble=await self._connection.run(self._told_by_room, self._lost))
        finally:
            self._set(waiting="closed")
            await self._connection.close()

    async def close(self) -> None:
        """Leave the seat; the room goes on with the game."""
        if self._task is not None and not self._task.done():
            await self._connection.sent()
            self._task.cancel()
            await wait_for_end(self._task)

    def say(self, text: str) -> None:
        """Tell the other something."""
        self._connection.send(Utterance(text=text[: 4 * LONGEST_SAID]))

    def set_patience(self, patience: float | None) -> None:
        """Let rounds go on while the person thinks; None: they wait."""
        super().set_patience(patience)
        self._connection.send(Patience(seconds=patience))

    def types(self, typing: bool) -> None:
        """Tell the room that the person types, or has stopped."""
        if typing != self._typed:
            self._typed = typing
            self._connection.send(Typing(typing=typing))

    def consent(self, yes: bool) -> None:
        """Answer the other's question to go back."""
        self._connection.send(Consent(yes=yes))

    def _decide(self, decision: base.TurnAnswer | base.ProposalAnswer, *waiting: str) -> None:
        del waiting
        match decision:
            case base.Play(command=command):
                self._connection.send(Command(command=command[:LONGEST_COMMAND]))
            case base.Rewind(to=to):
                self._connection.send(GoBack(to=to))
            case base.Proceed():
                self._connection.send(Retry())
            case _:
                pass

    def _lost(self) -> None:
        self._note("The room cannot be reached; trying again.")

    def _told_by_room(self, told: SeatStatus | Happened) -> None:
        if isinstance(told, Happened):
            event = self._memory.add(told.event)
            if event is None:
                return
            self.told.append(event)
            self._carry_on(event)
            self._listener(event)
            if isinstance(event.body, Stepped | TurnSpent):
                self.seat = self.seat.model_copy(update={"waiting": "deciding", "news": ()})
        else:
            before, self.seat = self.seat, told
            self._set(waiting=told.waiting, possible=told.possible, failure=told.failure, patience=told.patience)
            self._listener(self.status)  # only the seat's status has who asks to go back, and who did what
            if before.waiting != "opening":
                for name in {*before.absent} ^ {*told.absent}:
                    self._note(f"{name} {'has left' if name in told.absent else 'is here again'}.")
            if told.note and told.noted != before.noted:
                self._note(told.note)
        if self.seat.waiting == "turn":
            self._listener(Noticed(self.seat.news, self._memory.hearing(self.seat.news, self._memory.belief)))


class GuestScreen(PlayScreen):
    """Plays at the seat of player ``name``, to which ``invitation`` leads."""

    def __init__(self, game: ChosenGame, invitation: Invitation, name: str) -> None:
        self._invitation, self._me = invitation, name
        self._asking: PickDialog | None = None
        super().__init__(game, "together")

    def make_session(
        self, game: ChosenGame, listener: Callable[[SessionUpdate], None], mode: PlayMode, resume: Path | None
    ) -> Session:
        del mode, resume
        return GuestSession(game, listener, self._invitation, self._me, self._noted)

    @property
    def guest(self) -> GuestSession:
        """The game, as its room sends it."""
        session = self.session
        assert isinstance(session, GuestSession)
        return session

    def facts(self) -> Mapping[str, object]:
        return {**super().facts(), "recorded": False}

    def prompt(self) -> live_screen.PromptContent:
        content, absent = super().prompt(), self.guest.seat.absent
        waiting = self.session.status.waiting
        if waiting == "opening":
            return content._replace(text=f"waiting for {' and '.join(absent)} to come" if absent else "coming to the room")
        playing = {event.player: event.body.agent for event in branch(self.guest.told) if isinstance(event.body, Joined)}
        awaited = [name for name in absent if playing.get(name, HUMAN) == HUMAN]
        if waiting == "deciding" and awaited and self.play_state.cursor is None:
            return content._replace(text=f"waiting for {' and '.join(awaited)} to come back; in a while, an agent plays on")
        return content

    def show(self) -> None:
        self._shares = self.guest.seat.shares
        super().show()
        self._ask_consent()

    def ended(self) -> None:
        """Measure nothing: the room sends who did what."""

    def on_input_changed(self, message: Input.Changed) -> None:
        self.guest.types(bool(message.value))

    def _noted(self, note: str) -> None:
        if self.is_mounted:
            self.say(note)

    def _ask_consent(self) -> None:
        """Ask whether to go back with the other, as long as the question stands."""
        seat = self.guest.seat
        if seat.asks is not None and self._asking is None:
            where = f"the end of round {seat.round}" if seat.round else "the start"
            self._asking = PickDialog(f"{seat.asks} asks to go back to {where}, with you", [_YES, _NO])
            self.ask(self._asking, lambda answer: self.guest.consent(answer == _YES))
        elif seat.asks is None and self._asking is not None:
            asking, self._asking = self._asking, None
            if asking.is_current:
                asking.dismiss(None)
