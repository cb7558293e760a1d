"""A game as plain text in a terminal: played by an agent or by the person at the keyboard, or replayed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import groupby
from pathlib import Path

from housequest.agent.base import Proceed, Turn, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, is_played, part_of, read_sound
from housequest.agent.setup import Setup
from housequest.tui import terminal
from housequest.tui.episode.state import note_of
from housequest.tui.play.game import HUMAN, ChosenGame, recording
from housequest.tui.text import TextLayout, cut, plural, words
from housequest.worlds.base import Env, World
from housequest.worlds.env import enacted, moves_in_words
from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.paths import state_folder
from housequest.worlds.registry import household

LONGEST_THOUGHT = 1_200


def play_game(game: ChosenGame, record: Path | None = None) -> events.Ended:
    """Play ``game`` to its end, recorded in ``record`` or a new file. Raises what the world, the model and the configuration
    raise before it begins, and ``InUse`` if another window plays in that file."""
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
        files.callback(_note_record, path)
        if game.agent != HUMAN:
            return asyncio.run(_play(game, setup, path))
        # Not asyncio.run: the person is waited for in the loop itself, and Ctrl-C has to end that at once.
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(_play(game, setup, path))
        finally:
            loop.close()


def _note_record(path: Path | None) -> None:
    for file, how in ((path, "Recorded in"), (path and part_of(path), "Recorded as far as it went in")):
        if file is not None and file.exists():
            terminal.note(f"\n{how} {file}")


async def _play(game: ChosenGame, setup: Setup, path: Path | None) -> events.Ended:
    layout, agent, model = terminal.look(), game.played_by, game.opened_model
    assert agent is not None
    env = game.env or setup.open(game.task)
    game.person = partial(_ask, game.world, env, layout)
    try:
        if model is not None:
            await setup.check_model(model)
        formatter = EventFormatter(layout, typed=game.agent == HUMAN and terminal.interactive())
        overseer = PacedOverseer(game.speed) if game.speed is not None else None
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
                    terminal.show(formatter.lines(event))
                    terminal.show(_enacted_lines(event, env, layout))

            return await run_episode(env, agent, setup, listen, overseer)
    finally:
        env.close()
        if model is not None:
            await model.aclose()


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
    """Formats events in their order; ``typed``: the agent's commands are on the screen already, since a person typed them."""

    def __init__(self, layout: TextLayout, *, typed: bool = False) -> None:
        self._layout, self._painted = layout, layout.painted
        self._typed = typed
        self._plan: Sequence[str] = ()
        self._last: events.Stepped | None = None
        self._canonical: Callable[[str], str] = str

    def lines(self, event: events.Event) -> Iterator[str]:
        """``event`` as lines of text; none for what is not shown."""
        match event.body:
            case events.Started() as started:
                yield from self._started(started)
            case events.RulesShown(rules=rules):
                yield from self._note("rules", f"the agent is shown {plural(len(rules), 'rule')}")
            case events.Planned() as planned:
                self._plan = planned.steps
                again = f" (revised, {plural(planned.revision, 'time')}: {planned.reason})" if planned.revision else ""
                yield from self._note(planned.role, f"the plan{again}")
                for number, step in enumerate(planned.steps, start=1):
                    yield from self._painted("dim", " ".join(step.split()), f"       {number:>2} ", "          ")
            case events.Progressed(step=step) if step < len(self._plan):
                yield from self._note("plan", f"now step {step + 1}, {self._plan[step]}")
            case events.TurnSpent(turn=turn):
                yield self._layout.paint("dim", f"{turn:>2}   (no command)")
            case events.Stepped() as stepped:
                yield from self._stepped(stepped)
            case events.Ended() as ended:
                yield from self._ended(ended)
            case body:
                if (note := note_of(body)) is not None:
                    whole = note.kind == "answer" or isinstance(body, events.ParseFailed | events.Intervened)
                    yield from self._note(note.role, note.text if whole else cut(note.text, LONGEST_THOUGHT))

    def _note(self, who: str, text: str) -> list[str]:
        return self._painted("dim", f"{who}: {' '.join(text.split())}", "     ", "       ")

    def _started(self, started: events.Started) -> Iterator[str]:
        reader = household(started.world)
        self._canonical = reader.canonical if reader else str
        model = f", {started.model}" if started.model else ""
        limit = f"at most {plural(started.max_turns, 'turn')}"
        yield from self._painted("goal", started.goal.strip())
        yield from self._painted("dim", f"{started.world} {started.split}:{started.number}, {started.agent}{model}, {limit}")
        yield from ("", *self._layout.wrapped(started.opening.strip()), "")

    def _stepped(self, stepped: events.Stepped) -> Iterator[str]:
        self._last = stepped
        if not self._typed or stepped.by == "person":
            command = f"{stepped.command} (to explore)" if stepped.by == "curiosity" else stepped.command
            yield from self._painted("command", command, f"{stepped.turn:>2} > ", "     ")
        meant = self._canonical(stepped.command)
        older = meant != stepped.command and not stepped.accepted and not stepped.explanation
        hint = f"(This game says: {meant})" if older else stepped.explanation or ""
        answer = f"{stepped.observation.strip()} {hint}".strip()
        yield from self._layout.wrapped(answer, "     ") if stepped.accepted else self._painted("dim", answer, "     ")

    def _ended(self, ended: events.Ended) -> Iterator[str]:
        turns = plural(ended.turns, "turn")
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
        if ended.outcome in {"lost", "stopped"} and last and last.conditions:
            yield f"{last.met} of the {plural(last.conditions, 'condition')} of the goal held at the end."
        if ended.refused:
            yield f"{plural(ended.refused, 'command')} had no effect."
        if ended.assisted:
            yield "A person helped: the episode counts as assisted."


async def _ask(world: World, env: Env, layout: TextLayout, turn: Turn) -> str | None:
    """A person's next command from standard input, None when they leave. On a terminal, lines can be edited and recalled."""
    if terminal.interactive():
        with suppress(ImportError):
            # Importing it makes lines editable.
            import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]
    while True:
        line = terminal.read_line(f"{turn.number:>2} > ")
        match ":quit" if line is None else line.strip():
            case ":quit" | ":q":
                return None
            case ":admissible" | ":a" | "??":
                commands = env.admissible_commands()
                verbs = groupby(commands or (), key=lambda command: command.partition(" ")[0])
                said = "\n".join(", ".join(one) for _, one in verbs)
                said = "This world cannot list its commands." if commands is None else said
            case ":goal" | ":g":
                said = env.task.goal
            case "quit" | "exit" | "q":  # no game knows these words; they would only cost a turn
                said = "To leave, type :quit."
            case "":
                continue
            case word if word == "?" or word.startswith(":"):
                said = words("texts")["help"].format(
                    manual="\n".join(f"  {line}" for line in world.info.manual.strip().splitlines())
                )
            case word:
                return word
        terminal.show(["", *layout.wrapped(said, "     "), ""])
