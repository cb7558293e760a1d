"""``housequest play``, ``daily`` and ``replay``: a game or a recorded one, on the screen, in plain text, or as pictures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.screens import TOGETHER, game_screen
from housequest.tui.text import words
from housequest.worlds.errors import ConfigurationError, shown

if TYPE_CHECKING:
    from textual.screen import Screen

    from housequest.agent.config import Settings
    from housequest.tui.play.game import ChosenGame
    from housequest.worlds.base import Task, World

Pixels = Literal["auto", "kitty", "sixel", "blocks"]
"""As `housequest.tui.widgets.pixels.Pixels`, which is imported only for a screen."""
Moves = Literal["on", "off"]
Drawing = Literal["house", "eyes", "plan", "camera"]
"""As `housequest.worlds.rooms.view.Drawing`, which is imported only when something is drawn, and the camera's picture."""
DEMO_SPEED = 4.0
"""Turns a second that a newcomer can follow."""


@options.takes(*options.TASKS, *options.PLAYER)
def play(
    flags: options.Flags,
    task: str | None = None,
    random: bool = False,
    speed: float | None = None,
    record: bool = True,
    mode: str | None = None,
    pace: str | None = None,
    plain: bool = False,
    pixels: Pixels = "auto",
    moves: Moves = "on",
) -> None:
    """Play one game: watch an agent, step in, or play yourself. With no arguments, choose on the screen.

    Without --agent, the configured model plays as reasoner-actor. If no model is configured, you play the task that you
    name; with no task, the model that ships plays a house that comes with housequest. Without a terminal, or with --plain,
    the game is shown in plain text.
    """
    from housequest.agent.config import configure

    settings = configure(flags)
    screen = not plain and terminal.has_screen()
    split, agent, model = flags["split"], flags["agent"], flags["model"]
    if speed is not None:
        from housequest.tui.play.plain import seconds_per_turn

        seconds_per_turn(speed)  # refuses what is no speed
    if screen and (task, split, agent, model, mode) == (None,) * 5 and not (random or flags["type"]):
        _show(None, None, settings, record, speed, Look(pixels, moves))  # home shows before the imports for games
        return

    from housequest.agent.agents.spec import default_agent
    from housequest.agent.config import check_habits, world_of
    from housequest.tui.play.company import PATIENCE
    from housequest.tui.play.game import HUMAN, ChosenGame
    from housequest.tui.play.plain import play_game

    beside = mode == TOGETHER
    _check_mode(mode, pace, settings, screen=screen)
    chosen_world = world_of(settings)
    if beside and (task, split, flags["type"]) == (None,) * 3 and chosen_world.info.chores:
        settings, random = settings.model_copy(update={"split": next(iter(chosen_world.info.chores))}), True
    chosen = choose_task(chosen_world, settings, task, random)
    check_habits(settings.habits, chosen.split, chosen_world)
    if settings.goals != "template" and chosen.wording == "template":
        terminal.note(f"{chosen.reference} has no goal in people's words; it shows the template's.")

    def game(agent: str, speed: float | None = speed) -> ChosenGame:
        patience = PATIENCE if pace == "go-on" else None
        return ChosenGame(chosen_world, chosen, agent, settings, record, speed, beside, patience)

    named = task is not None or random or split is not None or bool(flags["type"])
    shown = default_agent(settings.model, settings.world)
    player = settings.agent or (shown if settings.model or beside else None)
    if screen:
        player = player or (HUMAN if (named and mode is None) or mode == "you" else shown)
        _show(game(player), mode or ("you" if player == HUMAN else "watch"), settings, record, speed, Look(pixels, moves))
        return
    watched = shown if mode in ("watch", "step") else HUMAN if named and terminal.interactive() else None
    player, texts = player or watched, words("texts")
    if player is not None:
        steered = mode == "step"
        if (player == HUMAN or beside or steered) and terminal.interactive():
            told = "you_play_beside" if beside else "you_steer" if steered else "you_play"
            terminal.show(terminal.look().wrapped(texts[told]))
        ended = play_game(game(player), steered=steered)
    else:
        terminal.show(terminal.look().wrapped(texts["expert_plays" if shown == "expert" else "model_plays"]))
        ended = play_game(game(shown, speed or (DEMO_SPEED if terminal.interactive() else None)))
        terminal.show(_what_next(chosen_world, shown).splitlines())
        if terminal.interactive():
            answer = terminal.read_line("\nPress Enter to play this house yourself now, or q and Enter to leave: ")
            if answer is not None and not answer.strip():
                terminal.show([f"\n{texts['you_play']}"])
                ended = play_game(game(HUMAN, None))
    terminal.finish(1 if ended.outcome == "error" else 0)


def _check_mode(mode: str | None, pace: str | None, settings: Settings, *, screen: bool) -> None:
    """Raise ``ConfigurationError`` if nobody can play in this way."""
    if mode in ("you", "race") and not screen:
        instead = "; with --agent human you play in plain text" if mode == "you" else ""
        raise ConfigurationError(f"--mode {mode} needs the screen: a terminal at both ends, and no --plain{instead}.")
    if mode not in (None, "you") and settings.agent == "human":
        raise ConfigurationError(f"--mode {mode} needs an agent other than 'human', who plays in the mode 'you' alone.")
    if pace is not None and (mode != TOGETHER or (pace == "go-on" and not screen)):
        raise ConfigurationError(f"--pace {pace} is for --mode together, and go-on for the screen; leave it out.")


@options.described
def daily(
    plain: bool = False, pixels: Pixels = "auto", moves: Moves = "on", yesterday: bool = False, png: Path | None = None
) -> None:
    """Play today's made-up house: the same for everyone, in one try.

    On Sundays there are chores for two, and an agent plays beside you. An unfinished game is resumed. Once it is
    over, this shows your result, how many days in a row you have won, and your week.
    """
    from housequest.agent.episodes.record import is_played, part_of
    from housequest.tui.play.game import daily_game, daily_record, daily_result, first_try
    from housequest.tui.play.ladder import week, week_lines
    from housequest.tui.play.plain import play_game

    day = date.today()
    if yesterday:
        _tell_story(day - timedelta(days=1), png)
        return
    if png is not None:
        raise ConfigurationError("--png shows how yesterday's game ended; add --yesterday.")
    game, tried, record = daily_game(day), first_try(day), daily_record(day)
    if tried is None or tried.unfinished:
        if not plain and terminal.has_screen():
            if is_played(record):
                from housequest.tui.replay.screen import ReplayScreen

                show_screen(lambda: ReplayScreen(part_of(record)), look=Look(pixels, moves))
            else:
                show_screen(lambda: game_screen(game, TOGETHER if game.beside else "you", record), look=Look(pixels, moves))
        elif tried is not None and not is_played(record):
            raise ConfigurationError("You have begun today's house; its game goes on in a terminal, without --plain.")
        else:
            play_game(game, record)
        tried = first_try(day)
    if tried is None:
        terminal.note("No command was given, so today's house is still to be played.")
    elif tried.unfinished:
        terminal.note("Today's house is not over yet; the same command goes on.")
    else:
        lines, faults = daily_result(day, tried)
        terminal.print_lines(lines)
        for fault in faults:
            terminal.note(fault)
        days = week(day)
        if sum(one.tried is not None for one in days) > 1:
            terminal.note("\n".join(("", *week_lines(days), "")))
        way = "--mode together" if game.beside else "--agent human"
        practice = f"{terminal.command()} play {game.task.reference} {way}"
        terminal.note(f"The next house comes tomorrow. For practice: {practice}")


def _tell_story(day: date, picture: Path | None) -> None:
    """Print the game of a ``day`` as a story, and write how its house was left to ``picture``."""
    from housequest.tui.play.game import first_try
    from housequest.tui.play.ladder import story_lines

    tried = first_try(day)
    if tried is None or tried.unfinished or tried.fault:
        why = "was not played" if tried is None else tried.fault or "is not over"
        raise ConfigurationError(f"There is no story of {day:%Y-%m-%d}: the house of that day {why}.")
    terminal.print_lines(story_lines(day, tried))
    if picture is not None:
        from housequest.tui.commands.cast import write_last_frame

        write_last_frame(tried.record, picture)


@options.described
def ladder(rung: int | None = None, plain: bool = False, pixels: Pixels = "auto", moves: Moves = "on") -> None:
    """Show the ladder of houses with your stars and the results of your week, or play one of its RUNGs.

    The houses get harder: from one errand in a kitchen to a household for two, with an agent beside you. A won game has one
    star, two within twice the turns of a planner that knows the house, and three within two turns more than it needs.
    """
    from housequest.tui.play.ladder import ladder_lines, next_rung, rung_lines, rungs, week, week_lines
    from housequest.tui.play.plain import play_game

    if rung is None:
        days = week(date.today())
        terminal.print_lines(ladder_lines())
        if any(one.tried for one in days):
            terminal.print_lines(["", "The houses of the last days", *week_lines(days)])
        terminal.note(f"Play the next one: {terminal.command()} ladder {next_rung()}")
        return
    if not 1 <= rung <= len(rungs()):
        raise ConfigurationError(f"The ladder has no rung {rung}; give 1 to {len(rungs())}.")
    chosen = rungs()[rung - 1]
    game = chosen.game
    if not plain and terminal.has_screen():
        game.open()
        show_screen(lambda: game_screen(game, TOGETHER if game.beside else "you"), look=Look(pixels, moves))
    else:
        if terminal.interactive():
            terminal.show(terminal.look().wrapped(words("texts")["you_play_beside" if game.beside else "you_play"]))
        play_game(game)
    terminal.print_lines(rung_lines(chosen))


def _what_next(world: World, player: str) -> str:
    """The commands to watch a model play ``world`` and to play it, for somebody who has watched ``player``."""
    from housequest.agent.agents.spec import DEFAULT_AGENT, agent_names, agent_spec
    from housequest.worlds.registry import DEFAULT_WORLD

    by_camera = (name for name in agent_names() if "camera" in agent_spec(name).takes)
    return words("texts")["what_next"].format(
        command=terminal.command(),
        model="a language model" if player == "expert" else "another language model",
        world="" if world.name == DEFAULT_WORLD else f" --world {world.name}",
        agent=next(by_camera, DEFAULT_AGENT) if world.info.pictured and not world.info.skills else DEFAULT_AGENT,
    )


def choose_task(world: World, settings: Settings, reference: str | None, random: bool = False) -> Task:
    """The task to play: the one named, a drawn one, the first of a split, or the one for newcomers."""
    from random import Random
    from secrets import randbelow

    from housequest.agent.evaluation.runs.spec import select
    from housequest.worlds.tasks import WORD, read_split, task_named

    if reference is not None:
        if random or settings.type:
            raise ConfigurationError("Both a task and --random or --type are given; leave out the task, or those.")
        found = task_named(world, reference)
        if reference.startswith(WORD):
            terminal.note(f"{shown(reference.removeprefix(WORD), 60)} is the house {found.reference}, the same for everyone.")
        return found
    if world.info.first_task and not (random or settings.split or settings.type):
        return world.task(world.info.first_task)
    split = settings.split or world.split_for("play")
    if random and not settings.split:
        # Without games on disk there are still made-up ones, and no end of them.
        splits = (world.split_for("evaluate"), *world.info.endless_splits)
        split = splits[0] if splits[0] in world.splits() else splits[-1]
    seed = randbelow(1 << 32) if settings.seed is None else settings.seed
    one = 1 if read_split(split, world.info.endless_splits)[1] is not None else None
    limit, sample = (None, one) if random else (one, None)
    tasks = select(world, split, settings.type, limit, sample, seed).tasks
    task = Random(seed).choice(tasks) if random else tasks[0]
    if random:
        terminal.note(f"Drew {task.reference} with --seed {seed}.")
    return task


class Look(NamedTuple):
    """The way to draw houses: in ``pixels`` if the terminal shows them, and with ``moves`` from place to place."""

    pixels: Pixels = "auto"
    moves: Moves = "on"


USUAL_LOOK = Look()


def _show(game: ChosenGame | None, mode: str | None, settings: Settings, record: bool, speed: float | None, look: Look) -> None:
    """Open the screen, at ``game`` or, without one, at home."""
    from housequest.tui.home.screen import HomeScreen

    def home(*, newcomer: bool = False) -> HomeScreen:
        return HomeScreen(settings, record=record, speed=speed, newcomer=newcomer)

    if game is None or mode is None:
        from housequest.tui.home.catalogue import is_newcomer

        show_screen(partial(home, newcomer=record and is_newcomer()), look=look)
    else:
        game.open()
        show_screen(lambda: game_screen(game, mode), home, look)


def show_screen(
    start: Callable[[], Screen[Any]], home: Callable[[], Screen[Any]] | None = None, look: Look = USUAL_LOOK
) -> None:
    """Run the app from the screen that ``start`` makes, and print where it recorded games; if it failed, end so too."""
    from housequest.tui.app import HousequestApp, read_keymap
    from housequest.tui.widgets.pixels import ask_terminal

    app = HousequestApp(start, home, ask_terminal(look.pixels), moves=look.moves == "on")
    app.choose_keys(read_keymap())
    try:
        app.run()
    finally:
        for path in app.recorded():
            terminal.note(f"{'Recorded as far as it went in' if path.suffix == '.part' else 'Recorded in'} {path}")
    terminal.finish(app.return_code)


@options.described
def replay(
    file: Path,
    task: str | None = None,
    speed: float | None = None,
    step: bool = False,
    plain: bool = False,
    frames: Path | None = None,
    cast: Path | None = None,
    drawing: Drawing | None = None,
    size: str | None = None,
    true_state: bool = False,
    pixels: Pixels = "auto",
    moves: Moves = "on",
) -> None:
    """Show a recorded episode. With --speed it starts playing at once.

    Without a terminal, or with --plain or --step, it is shown in plain text. --frames and --cast need no terminal.
    """
    from housequest.agent.episodes.record import read_episode
    from housequest.tui.play.plain import replay_plain, seconds_per_turn

    seconds = seconds_per_turn(speed) if speed is not None else 0
    path, at = _witness(file) if task is None and not file.exists() else (_episode(file, task), None)
    if frames or cast:
        if frames and cast:
            raise ConfigurationError("--frames and --cast are written one at a time; give one of them.")
        if plain or step or (frames and speed is not None):
            raise ConfigurationError("--plain and --step show a replay, and --frames has no --speed; leave them out.")
        from housequest.tui.commands.cast import write_cast, write_frames

        extent = options.read_size("--size", size) if size is not None else None
        if frames:
            write_frames(path, frames, drawing or "house", extent, true=true_state)
        elif cast:
            write_cast(path, cast, drawing, extent, speed, true=true_state, moves=moves == "on")
        return
    if drawing or size or true_state:
        raise ConfigurationError("--drawing, --size and --true-state are for --frames DIR and --cast FILE; give one of these.")
    if terminal.has_screen() and not (plain or step):
        from housequest.tui.replay.screen import ReplayScreen

        if next(read_episode(path), None) is None:
            raise ConfigurationError(f"{path} holds no events: the episode was interrupted before it began.")
        show_screen(lambda: ReplayScreen(path, speed, at=at), look=Look(pixels, moves))
        return
    terminal.finish(0 if replay_plain(path, seconds, step=step) else 1)


def _witness(name: Path) -> tuple[Path, int | None]:
    """The record of the witness ``name``, which is run/task/step, and its event; any other name as it is."""
    from housequest.tui.desk.witnesses import FoundWitness, archives, find_witnesses
    from housequest.tui.runs.data import recorded_play

    (found,) = find_witnesses([name.as_posix()], recorded_play(Path("runs")), archives())
    return (found.path, found.event) if isinstance(found, FoundWitness) else (name, None)


def _episode(path: Path, task: str | None) -> Path:
    """The episode's file: ``path`` itself, or that of ``task`` in the run there; of a series or a sweep, the last attempt's, or
    the first of its runs that has the task. Raises ``ConfigurationError``.
    """
    from housequest.agent.evaluation.analysis.run import find_task
    from housequest.agent.evaluation.runs.folder import RunFolder
    from housequest.agent.evaluation.runs.sweep import SweepFolder

    if task is None:
        if path.is_dir():
            raise ConfigurationError(f"{path} is a folder; name one of its tasks with --task NUMBER, or see `housequest runs`.")
        return path
    folder = SweepFolder(path)
    runs = folder.begun_runs("") if folder.begun else [RunFolder(path)]
    if folder.begun and folder.contents().series == "attempts":
        runs.reverse()
    tasks = runs[0].manifest().tasks
    run = next((each for each in runs if find_task(each.manifest().tasks, task) is not None), runs[0])
    if len(runs) > 1:
        terminal.note(f"This is the episode of {run.path.name}; name the folder of another run in {path} for its own.")
    if (found := find_task(run.manifest().tasks, task)) is None:
        way_out = f"name one by its number, for example {tasks[0].number}."
        raise ConfigurationError(f"--task: {shown(task)} is not a task of the run in {path}; {way_out}")
    finished, part = run.episode(found), run.part(found)
    return part if part.exists() and not finished.exists() else finished
