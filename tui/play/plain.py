"""A game as plain text in a terminal: played by an agent or by the person at the keyboard, or replayed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from housequest.agent.base import Proceed, Say, Turn, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, is_played, read_sound
from housequest.agent.episodes.resume import resume_together
from housequest.agent.episodes.seat_view import SeatView
from housequest.agent.setup import Setup
from housequest.tui import terminal
from housequest.tui.episode.state import note_of
from housequest.tui.play.company import SAY, SharedPar, seats, shares, words_in
from housequest.tui.play.game import HUMAN, ChosenGame, recording
from housequest.tui.play.typed import TypedOverseer, TypedPlayer
from housequest.tui.text import TextLayout, cut, plural
from housequest.worlds.base import Env, Explaining, World
from housequest.worlds.env import enacted, moves_in_words
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.talk import quoted
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import household
from housequest.worlds.shared import Seat

LONGEST_THOUGHT = 1_200


def play_game(game: ChosenGame, record: Path | None = None, *, steered: bool = False) -> events.Ended:
    """Play ``game`` to its end, recorded in ``record`` or a new file; if ``steered``, a person decides on each proposal.

    Raises the errors of the world, the model and the configuration before it begins, and ``InUse`` if another window plays in
    that file.
    """
    setup = game.open()
    if game.settings.rules and setup.rules is None:
        terminal.note(f"The agent {game.agent!r} takes none of these rules; it plays without {shown(game.settings.rules)}.\n")
    for sentence in setup.destinations():
        terminal.note(f"{sentence}\n")
    with ExitStack() as files:
        path = None
        try:
            path = files.enter_context(recording(game, record)) if game.record else None
        except OSError as error:
            where = error.filename or state_folder()
            terminal.note(f"Played without a record: {where} cannot be written ({error.strerror}).\n")
        files.callback(terminal.note_record, path)
        if game.agent != HUMAN and not game.beside and not steered:
            return asyncio.run(_play(game, setup, path))
        # Not asyncio.run: the person is waited for in the loop itself, and Ctrl-C has to end that at once.
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(_play(game, setup, path, steered=steered))
        finally:
            loop.close()


async def _play(game: ChosenGame, setup: Setup, path: Path | None, *, steered: bool = False) -> events.Ended:
    layout, agent, model = terminal.look(), game.played_by, game.opened_model
    assert agent is not None
    env, house = game.env or setup.open(game.task), game.house
    asked = TypedPlayer(game.world, env, layout).ask
    game.person = _Beside(game, env, layout, asked) if isinstance(env, Seat) else asked
    told: list[events.Event] = []
    seen = SeatView(env.player if isinstance(env, Seat) else None)
    try:
        if model is not None:
            await setup.each[-1].check_model(model)
        plays = HUMAN in {game.agent, setup.agent}
        explaining = game.world if plays else None
        formatter = EventFormatter(layout, typed=plays and terminal.interactive(), whole=False, explaining=explaining)
        person = TypedOverseer(game, layout) if steered else None
        overseer = person or (PacedOverseer(game.speed) if game.speed is not None else None)
        with ExitStack() as files:
            record = None
            if path is not None:
                try:
                    record = files.enter_context(EpisodeRecorder(path))
                except OSError as error:
                    terminal.note(f"Played without a record: {path} cannot be written ({error.strerror}).\n")

            def listen(event: events.Event | events.CallTiming) -> None:
                if record is not None:
                    record(event)
                if isinstance(event, events.Event):
                    told.append(event)
                    if person is not None:
                        person.notice(event)
                    if (own := seen.of(event)) is not None:
                        terminal.show(formatter.lines(own))
                    terminal.show(_enacted_lines(event, env, layout))

            if house is None:
                return await run_episode(env, agent, setup, listen, overseer)
            players = seats(setup, Unattended(), game.ask, overseer or Unattended(), model)
            ended = await resume_together(house, players, (), listen, setup.company)
            terminal.show(_shared_lines(game, told, layout))
            return ended
    finally:
        env.close()
        if model is not None:
            await model.aclose()


def _shared_lines(game: ChosenGame, told: Sequence[events.Event], layout: TextLayout) -> Iterator[str]:
    """Lines on who did what, and on par alone and together."""
    me = game.house.players[0] if game.house else None
    for share in shares(told, me):
        yield from layout.wrapped(share)
    if par := SharedPar.of(game.world, game.task).words:
        yield from layout.wrapped(par)


class _Beside:
    """Asks a person who plays beside an agent, after showing the agent's news; words that are no command go to it."""

    def __init__(
        self, game: ChosenGame, seat: Seat, layout: TextLayout, asked: Callable[[Turn], Awaitable[str | None]]
    ) -> None:
        self._world, self._seat, self._layout, self._asked = game.world, seat, layout, asked
        self._told: tuple[int, Sequence[str]] = (0, ())

    async def __call__(self, turn: Turn) -> str | Say | None:
        number, told = self._told
        self._told = turn.number, turn.news
        fresh = turn.news[len(told) :] if turn.number == number else turn.news
        terminal.show(line for sentence in fresh for line in self._layout.painted("news", sentence, "     ", "       "))
        typed = await self._asked(turn)
        if typed is None:
            return None
        possible = self._seat.admissible_commands() or ()
        if typed in possible or (said := words_in(typed, self._world.household)) is None:
            return typed
        if terminal.interactive() and not typed.lower().startswith(SAY):
            terminal.show(self._layout.painted("dim", f"(said to {', '.join(turn.others)})", "     "))
        return Say(said)


def _enacted_lines(event: events.Event, env: Env, layout: TextLayout) -> Iterator[str]:
    """The outcome of a command in the simulator and, at the end, of all; empty where none is enacted."""
    if (found := enacted(env)) is None:
        return
    if isinstance(event.body, events.Stepped) and found.moves:
        yield from layout.painted("dim", f"moves: {moves_in_words(found.moves)}", "     ", "       ")
    elif isinstance(event.body, events.Ended):
        yield from layout.painted("dim", f"It was {found.words}.")


class PacedOverseer(Unattended):
    """An overseer that waits between turns, so that a person can follow."""

    def __init__(self, speed: float) -> None:
        self._pause = seconds_per_turn(speed)

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
        del possible
        if turn > 1:
            await asyncio.sleep(self._pause)
        return Proceed()


def seconds_per_turn(speed: float) -> float:
    """The pause between turns at ``speed`` turns a second. Raises ``ConfigurationError`` for a speed out of bounds."""
    if not 0.01 <= speed <= 1_000:
        raise ConfigurationError(f"--speed: {speed} turns a second cannot be shown; give 0.01 to 1000.")
    return 1 / speed


def replay_plain(path: Path, seconds: float, *, step: bool) -> bool:
    """Show the record ``path`` with so many seconds after each turn, or if ``step`` a press of Enter.

    Returns:
        False if it is damaged further on.

    Raises:
        ConfigurationError: It is no record.
    """
    from housequest.tui.episode.recording import branch_lines, game_branches

    layout, (told, fault) = terminal.look(), read_sound(path)
    if fault and not told:
        raise ConfigurationError(fault)
    narrator = EventFormatter(layout)
    for event in told:
        terminal.show(narrator.lines(event))
        if isinstance(event.body, events.Stepped | events.TurnSpent):
            if step and terminal.read_line("") is None:
                return True
            time.sleep(seconds)
    if fault:
        terminal.note(f"{fault} Shown as far as the event before it.")
    elif told and not isinstance(told[-1].body, events.Ended):
        how = "is being played in another window" if is_played(path) else "was interrupted"
        terminal.note(f"The record ends here: the episode {how}.")
    if len(found := game_branches(told)) > 1:
        terminal.show(["", *(line for first, rest, text in branch_lines(found) for line in layout.wrapped(text, first, rest))])
    if not told:
        terminal.note(f"{path} holds no events: the episode was interrupted before it began.")
    return not fault


def told_by_turn(
    recorded: Iterable[events.Event], layout: TextLayout
) -> tuple[events.Started | None, list[list[str]], list[str]]:
    """The start of an episode, then the lines of each turn of the branch that was played on, and those after the last turn."""
    narrator, turns = EventFormatter(layout), [list[str]()]
    started: events.Started | None = None
    for event in events.branch(list(recorded)):
        if isinstance(event.body, events.Started):
            started = event.body
            continue
        turns[-1] += narrator.lines(event)
        if isinstance(event.body, events.Stepped | events.TurnSpent):
            turns.append([])
    return started, turns[:-1], turns[-1]


class EventFormatter:
    """Formats events in their order; ``typed``: the agent's commands are on the screen already, since a person typed them.
    ``whole``: show all players of a game of several, by name. ``explaining``: say why this world refused a command.
    """

    def __init__(self, layout: TextLayout, *, typed: bool = False, whole: bool = True, explaining: World | None = None) -> None:
        self._layout, self._painted = layout, layout.painted
        self._typed, self._all, self._explaining = typed, whole, explaining
        self._unit = "turn"
        self._plan: Sequence[str] = ()
        self._planned: events.Planned | None = None
        self._last: events.Stepped | None = None
        self._canonical: Callable[[str], str] = str

    def lines(self, event: events.Event) -> Iterator[str]:
        """``event`` as lines of text; none for what is not shown."""
        match event.body:
            case events.Started() as started:
                yield from self._started(started)
            case events.RulesShown(rules=rules):
                yield from self._note("rules", f"the agent is shown {plural(len(rules), 'rule')}")
            case events.Planned() as planned if planned != self._planned:
                # Asked again in one turn, an agent makes the same plan.
                self._plan, self._planned = planned.steps, planned
                again = f" (revised, {plural(planned.revision, 'time')}: {planned.reason})" if planned.revision else ""
                yield from self._note(planned.role, f"the plan{again}")
                for number, step in enumerate(planned.steps, start=1):
                    yield from self._painted("dim", " ".join(step.split()), f"       {number:>2} ", "          ")
            case events.Progressed(step=step) if step < len(self._plan):
                yield from self._note("plan", f"now step {step + 1}, {self._plan[step]}")
            case events.Said(text=text) if event.player is not None and (self._all or not self._typed):
                said = quoted(event.player, text) if self._all else f'You say: "{text}"'
                yield from self._painted("news", said, "     ", "       ")
            case events.TurnSpent(turn=turn):
                yield self._layout.paint("dim", f"{turn:>2}   (no command)")
            case events.Stepped() as stepped:
                yield from self._stepped(stepped, f"{event.player} " if self._all and event.player else "")
                if event.belief is not None and not (stepped.accepted or stepped.explanation):
                    yield from self._why(event.belief, stepped.command)
            case events.Ended() as ended:
                yield from self._ended(ended)
            case body:
                if (note := note_of(body)) is not None:
                    whole = note.kind == "answer" or isinstance(body, events.ParseFailed | events.Intervened)
                    yield from self._note(note.role, note.text if whole else cut(note.text, LONGEST_THOUGHT))

    def _why(self, belief: Belief, refused: str) -> list[str]:
        why = self._explaining.explain(belief, refused) if isinstance(self._explaining, Explaining) else None
        return self._painted("dim", why, "     ") if why else []

    def _note(self, who: str, text: str) -> list[str]:
        return self._painted("dim", f"{who}: {' '.join(text.split())}", "     ", "       ")

    def _started(self, started: events.Started) -> Iterator[str]:
        reader = household(started.world)
        self._canonical = reader.canonical if reader else str
        model = f", {started.model}" if started.model else ""
        players, self._unit = started.agent + model, "turn"
        if started.players:
            players, self._unit = " and ".join(f"{one.name} ({one.agent})" for one in started.players), "round"
        limit = f"at most {plural(started.max_turns, self._unit)}"
        yield from self._painted("goal", started.goal.strip())
        yield from self._painted("dim", f"{started.world} {started.split}:{started.number}, {players}, {limit}")
        _, _, qualified = started.engine.partition(", ")
        yield from self._painted("dim", qualified.capitalize()) if qualified else ()
        yield from ("", *self._layout.wrapped(started.opening.strip()), "")

    def _stepped(self, stepped: events.Stepped, who: str) -> Iterator[str]:
        self._last = stepped
        if not self._typed or stepped.by == "person":
            command = f"{stepped.command} (to explore)" if stepped.by == "curiosity" else stepped.command
            yield from self._painted("command", command, f"{stepped.turn:>2} {who}> ", "     ")
        meant = self._canonical(stepped.command)
        older = meant != stepped.command and not stepped.accepted and not stepped.explanation
        hint = f"(This game says: {meant})" if older else stepped.explanation or ""
        answer = f"{stepped.observation.strip()} {hint}".strip()
        yield from self._layout.wrapped(answer, "     ") if stepped.accepted else self._painted("dim", answer, "     ")

    def _ended(self, ended: events.Ended) -> Iterator[str]:
        turns = plural(ended.turns, self._unit)
        yield ""
        match ended.outcome:
            case "won":
                yield self._layout.paint("good", f"Won in {turns}.")
            case "lost":
                yield from self._painted("bad", f"Lost after {turns}: {ended.reason}.")
            case "stopped":
                yield from self._layout.wrapped(f"Stopped after {turns}: {ended.reason}.")
            case "error":
                why = ended.message or ended.reason
                yield from self._painted("bad", f"Broken off after {turns} by an error ({ended.boundary}): {why}")
        last = self._last
        if ended.outcome in {"lost", "stopped"} and last and last.conditions and self._unit == "turn":
            yield f"{last.met} of the {plural(last.conditions, 'condition')} of the goal held at the end."
        if ended.refused:
            yield f"{plural(ended.refused, 'command')} had no effect."
        if ended.assisted:
            yield "A person helped: the episode counts as assisted."
