"""Several players in one house: they play in rounds, each with its own agent, memory, belief and config.

All their events are one chain. The seed gives each round its order. Players act one after the other, each told what it
could see of the earlier ones; or all decide at once, on the house as it is. A turn is played as if its player were alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from housequest.agent import base
from housequest.agent.episodes import events
from housequest.agent.episodes.config import PLAN, VIEW, EpisodeConfig
from housequest.agent.episodes.emitter import EpisodeOver, EventEmitter, EventListener, SeatEmitter, attributed
from housequest.agent.episodes.loop import MOST_SAID, Decided, EpisodeSeat, RunningEpisode
from housequest.agent.roles.base import clean
from housequest.worlds.base import Env, Observation, Step
from housequest.worlds.errors import ConfigurationError, ModelError
from housequest.worlds.household.talk import free_text, quoted
from housequest.worlds.shared import WAIT, Seat, Shared

RESTING = "it acts in every second round"
"""The reason why a slow partner skips a turn."""
PERSON = "human"
"""The agent that is a person."""
LEFT = "has left; an agent plays on."
"""The news that an agent plays in a person's place."""


@dataclass(frozen=True, slots=True)
class Partner:
    """One of several players: its agent with its own config, and a person who may step in."""

    name: str
    agent: base.Agent
    config: EpisodeConfig
    overseer: base.Overseer = field(default_factory=base.Unattended)


@dataclass(frozen=True, slots=True)
class TogetherConfig:
    """The recorded settings of a game of several: the price of a message, the ``order`` of decisions, and whose requests agents
    ``obey``."""

    talk: events.Talking = "free"
    order: events.Deciding = "turns"
    obey: events.Obeying = "people"


async def run_together(
    house: Shared,
    partners: Sequence[Partner],
    listener: EventListener,
    company: TogetherConfig | None = None,
    *,
    halt: Callable[[ModelError], None] = lambda _: None,
) -> events.Ended:
    """Play one episode of several players to its end. The caller closes ``house``; the loop closes its copies.

    The first partner's config sets the number of rounds; each partner's own sets its grants and rules. If a player gives up,
    the others play on; if all do, the game is lost. A model that fails ends it for everybody.

    Args:
        house: A new house, with a seat for each of ``partners``.
        partners: The players.
        listener: Gets every event.
        company: How they talk, in which order they decide, and whom they obey.
        halt: As in `run_episode`.

    Returns:
        The end of the last branch.

    Raises:
        ConfigurationError: A person attends players who decide at once, or a grant is for one player alone.
    """
    company = company or TogetherConfig()
    at_once = company.order == "at-once"
    if at_once and any(one.overseer.attended for one in partners):
        raise ConfigurationError("A person cannot attend players who decide at once; give the order turns.")
    for one in partners:
        if alone := {"diagnosis", VIEW, PLAN} & one.config.grants:
            raise ConfigurationError(f"--grant {min(alone)} is for one player alone; leave it out.")
    sent = EventEmitter(listener)
    seats = tuple(
        EpisodeSeat(
            Seat(house, one.name),
            one.agent,
            one.config,
            one.overseer,
            SeatEmitter(sent, one.name, held=at_once),
        )
        for one in partners
    )
    return await _Together(seats[0].env, seats, sent, halt, company=company).run()


@dataclass(slots=True, eq=False, kw_only=True)
class _Together(RunningEpisode):
    """A running episode of several, each in a ``Seat`` of one house."""

    company: TogetherConfig

    @property
    def talk(self) -> events.Talking:
        return self.company.talk

    def _open(self) -> list[Step]:
        opened = self._house(self.env).reset()
        return [opened[seat.name] for seat in self.seats]

    def _played_by(self, openings: Sequence[Observation]) -> dict[str, Any]:
        first = openings[0].text
        players = tuple(_participant(seat, own.text, first) for seat, own in zip(self.seats, openings, strict=True))
        return {"players": players, "talk": self.company.talk, "order": self.company.order, "obey": self.company.obey}

    async def _play_round(self, number: int) -> None:
        order = [seat for seat in self.seats if not seat.state.gone]
        Random(f"{self.config.seed}/{self.env.task.id}/{number}").shuffle(order)
        for seat in (one for one in order if one.config.manner == "slow" and number % 2):
            seat.state.shown = ()
            await self._spend(seat, number, RESTING)
            order.remove(seat)
        if self.company.order == "at-once":
            await self._decide_at_once(order, number)
            return
        for seat in order:
            self._hear(seat)
            await self._take_turn(seat, number)

    async def _decide_at_once(self, order: Sequence[EpisodeSeat], number: int) -> None:
        """Ask all agents at the same time, then carry out their decisions in this order, however long each took."""
        asked = list[asyncio.Task[Decided | ModelError]]()
        turns = list[base.Turn]()
        for seat in order:
            self._hear(seat)
            possible = await self._in_world(seat.env.admissible_commands) if seat.grants.admissible else None
            turns.append(await self._turn(seat, number, possible))
        try:
            asked += (asyncio.create_task(self._ask(seat, turn)) for seat, turn in zip(order, turns, strict=True))
            for seat, asking in zip(order, asked, strict=True):
                await asyncio.wait((asking,))
                seat.emitter.release()
                decided = self._unattended(seat, asking.result())
                if isinstance(decided.decision, base.Act):
                    seat.emitter.emit(events.Proposed(turn=number, command=decided.decision.command))
                await self._carry_out(seat, decided, number)
        finally:
            for asking in asked:
                asking.cancel()
            await asyncio.gather(*asked, return_exceptions=True)

    async def _turn(self, seat: EpisodeSeat, number: int, possible: tuple[str, ...] | None) -> base.Turn:
        turn = await RunningEpisode._turn(self, seat, number, possible)
        return turn if seat.config.manner == "ignorant" else self._in_company(seat, turn)

    def _in_company(self, seat: EpisodeSeat, turn: base.Turn) -> base.Turn:
        others = tuple(one for one in self.seats if one is not seat and not one.state.gone)
        obeyed = tuple(one.name for one in others if one.agent.name == PERSON or self.company.obey == "all")
        return replace(turn, player=seat.name, others=tuple(one.name for one in others), obeyed=obeyed)

    def _say(self, seat: EpisodeSeat, says: Sequence[str], number: int, after: int | None = None) -> bool:
        if self.talk == "off" or seat.config.manner in ("ignorant", "mute"):
            return False
        said = [text for text in map(free_text, says[:MOST_SAID]) if text]
        for text in said:
            seat.emitter.emit(events.Said(turn=number, text=text, after=after))
            self._tell_others(seat, quoted(seat.name, text))
        return bool(said) and self.talk == "turn"

    def _goes_on(self, seat: EpisodeSeat, decided: Decided, number: int) -> bool:
        state = seat.state
        match decided.decision:
            case base.Say(text=text) if self.talk == "free":
                seat.accept(decided)
                self._say(seat, (text,), number, len(state.shown))
                self._answer(seat, number)
                state.shown, state.news = (*state.shown, *state.news), ()
            case base.Overheard(who=who, text=text):
                seat.accept(decided)
                speaker = next(one for one in self.seats if one.name == who)
                self._say(speaker, (text,), number)
                self._answer(speaker, number)
                state.shown, state.news = (*state.shown, *state.news), ()
            case base.HandOver(agent=agent):
                seat.accept(decided)
                seat.emitter.emit(events.Joined(turn=number, agent=agent))
                self._tell_others(seat, f"{seat.name} is back." if agent == PERSON else f"{seat.name} {LEFT}")
            case _:
                return False
        return True

    def _answer(self, speaker: EpisodeSeat, number: int) -> None:
        """Let the agents that can do so answer what was just said."""
        for seat in self.seats:
            state, agent = seat.state, seat.agent
            if seat is speaker or state.gone or seat.config.manner == "ignorant" or not isinstance(agent, base.Answering):
                continue
            turn = base.Turn(number, seat.config.max_turns - state.turn, state.unseen, news=state.news)
            if self.household is not None and state.belief is not None:
                with attributed("world"):
                    turn = replace(turn, belief=self.household.hear(state.belief, state.news))
            with attributed("agent"):
                answers, state.memory = agent.answer(state.memory, self._in_company(seat, turn))
            self._say(seat, answers, number)

    def _tell_others(self, seat: EpisodeSeat, sentence: str) -> None:
        for other in self.seats:
            if other is not seat and not other.state.gone:
                other.state.news += (sentence,)

    async def _wait(self, seat: EpisodeSeat) -> None:
        # A player's news begins at its last command.
        await self._in_world(partial(seat.env.step, WAIT))
        self._listen(seat)

    async def _give_up(self, seat: EpisodeSeat, number: int, reason: str) -> None:
        await self._spend(seat, number, clean(reason))
        self._leave(seat, reason)

    def _leave(self, seat: EpisodeSeat, reason: str) -> None:
        seat.state.gone = True
        if all(one.state.gone for one in self.seats):
            raise EpisodeOver("lost", reason)
        self._tell_others(seat, f"{seat.name} has left.")

    def _reseat(self, env: Env) -> None:
        house = self._house(env)
        for seat in self.seats:
            seat.env = Seat(house, seat.name)

    def _house(self, env: Env) -> Shared:
        assert isinstance(env, Seat)
        return env.shared

    def _listen(self, actor: EpisodeSeat | None) -> None:
        for seat in self.seats:
            if isinstance(seat.env, Seat) and not seat.state.gone:
                state, told = seat.state, seat.env.news()
                known = () if seat is actor else state.told
                state.news += told[len(known) :] if told[: len(known)] == known else told
                state.told = told

    def _hear(self, seat: EpisodeSeat) -> None:
        """Begin a turn with the news. Call it once a turn, since a belief counts by them how long others stay at a place."""
        state = seat.state
        state.shown, state.news = () if seat.config.manner == "ignorant" else state.news, ()
        if self.household is not None and state.belief is not None:
            with attributed("world"):
                state.belief = self.household.hear(state.belief, state.shown)


def end_of_round(told: Sequence[events.Event], to: int) -> int:
    """Find the end of the round of the turn that the event ``to`` ended: a rewind goes only to ends of rounds, and from the
    game's last round to the one before."""
    number = {event.id: event.body.turn for event in told if isinstance(event.body, events.Stepped | events.TurnSpent)}
    after, end = {to}, to
    for event in told:
        if event.parent in after:
            after.add(event.id)
            end = event.id if number.get(event.id) == number.get(to) is not None else end
    if any(event.parent == end and isinstance(event.body, events.Ended) for event in told):
        played = events.branch([event for event in told if event.id <= end])
        return next((event.id for event in reversed(played) if 0 < number.get(event.id, 0) < number.get(end, 0)), told[0].id)
    return end


def _participant(seat: EpisodeSeat, opening: str, first: str) -> events.Participant:
    return events.Participant(
        name=seat.name,
        agent=seat.agent.name,
        settings=dict(seat.config.settings),
        model=seat.config.recorded_model,
        rules=seat.config.rules.label if seat.config.rules else None,
        opening=None if opening == first else opening,
        manner=seat.config.manner,
        stand_in=seat.config.stand_in,
    )
