"""``housequest play``: one game in plain text, played by an agent or by you."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands import options

if TYPE_CHECKING:
    from agent.config import Settings
    from tui.play.game import GameConfig, Mode
    from worlds.base import Task, World

DEMO_SPEED = 4.0
"""Turns a second that a newcomer can follow."""

_MODEL_PLAYS = (
    "This is the model that ships with housequest: a small language model that knows households in text and nothing else. It "
    "makes a plan as the reasoner, and acts on it as the actor.\n"
)
_EXPERT_PLAYS = "This is the expert, the world's own player, which uses no language model.\n"
_YOU_PLAY = "You play. Type a command and press Enter; ? shows help, :quit leaves.\n"
_WHAT_NEXT = """
To watch another language model play, name one on any OpenAI-compatible server:
  {command} play --agent reasoner-actor \\
    --model openai:NAME@http://localhost:8000/v1
To play yourself:
  {command} play --agent human"""


def play(
    task: Annotated[
        str | None,
        typer.Argument(metavar="[TASK]", help="A task: split:number, an id or a path [generated:690].", show_default=False),
    ] = None,
    world: options.World = None,
    engine: options.Engine = None,
    split: options.Split = None,
    type: options.Type = None,
    random: Annotated[bool, typer.Option("--random", help="Draw the task from the split, with --seed or anew.")] = False,
    goals: options.Goals = None,
    habits: options.Habits = None,
    world_option: options.WorldOption = None,
    seed: options.Seed = None,
    agent: options.Agent = None,
    set: options.Set = None,
    model: options.Model = None,
    timeout: options.Timeout = None,
    rules: options.Rules = None,
    rules_budget: options.RulesBudget = None,
    grant: options.Grant = None,
    max_steps: options.MaxSteps = None,
    speed: Annotated[float | None, typer.Option("--speed", metavar="N", help="Show at most N turns a second.")] = None,
    record: Annotated[bool, typer.Option("--record/--no-record", help="Keep a record of the episode [--record].")] = True,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="On the screen: watch, step, you or race [watch].")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Plain text, without the screen.")] = False,
) -> None:
    """Play one game on the screen: watch an agent, step in, or play it yourself. With nothing named, choose there.

    Without --agent, the configured model plays as reasoner-actor. Where there is none, a task that you name is yours to
    play on a terminal; otherwise the model that ships plays a house that comes with housequest. Where there is no terminal,
    and with --plain, the game is told in plain text.
    """
    from agent.agents.registry import default_agent
    from agent.config import check_habits, configure, world_of
    from tui import terminal

    settings = configure(options.settings(locals())).settings
    screen = not plain and terminal.has_screen()
    seat = _mode(mode, settings.agent, screen)
    if speed is not None:
        from tui.play.plain import seconds_per_turn

        seconds_per_turn(speed)
    if screen and seat is None and not (random or type) and (task, split, agent, model) == (None,) * 4:
        _show(None, None, settings, record, speed)
        return

    from tui.play.game import HUMAN, GameConfig
    from tui.play.plain import play_game

    chosen_world = world_of(settings)
    chosen = _choose_task(chosen_world, settings, task, random)
    check_habits(settings.habits, chosen.split, chosen_world)
    if settings.goals != "template" and chosen.wording == "template":
        terminal.note(f"{chosen.reference} has no goal in people's words; it shows the template's.")
    named = task is not None or random or split is not None or bool(type)
    shown = default_agent(settings.model, settings.world)
    player = settings.agent or (shown if settings.model else None)
    if screen:
        usual = HUMAN if (named and seat is None) or seat == "you" else shown
        game = GameConfig(chosen_world, chosen, player or usual, settings, record, speed)
        _show(game, seat or ("you" if game.agent == HUMAN else "watch"), settings, record, speed)
        return
    player = player or (HUMAN if named and terminal.interactive() else None)
    if player == HUMAN and terminal.interactive():
        terminal.show([_YOU_PLAY])
    if player is not None:
        _finish(play_game(GameConfig(chosen_world, chosen, player, settings, record, speed)).outcome)
        return

    look = terminal.look()
    terminal.show(look.wrapped(_EXPERT_PLAYS if shown == "expert" else _MODEL_PLAYS))
    pace = speed or (DEMO_SPEED if terminal.interactive() else None)
    ended = play_game(GameConfig(chosen_world, chosen, shown, settings, record, pace))
    terminal.show(_WHAT_NEXT.format(command=terminal.command()).splitlines())
    if terminal.interactive():
        answer = terminal.read_line("\nPress Enter to play this house yourself now, or q and Enter to leave: ")
        if answer is not None and not answer.strip():
            terminal.show([f"\n{_YOU_PLAY}"])
            ended = play_game(GameConfig(chosen_world, chosen, HUMAN, settings, record))
    _finish(ended.outcome)


def _choose_task(world: World, settings: Settings, reference: str | None, random: bool) -> Task:
    """The task to play: the one named, a drawn one, the first of a split, or the first house that anybody is shown."""
    from random import Random
    from secrets import randbelow

    from agent.evaluation.runs.selection import MANY, select
    from tui import terminal
    from worlds.errors import ConfigurationError

    if reference is not None:
        if random or settings.type:
            raise ConfigurationError("A task is named and is to be chosen: leave out the task, or --random and --type.")
        return world.task(reference)
    if world.first_task and not (random or settings.split or settings.type):
        return world.task(world.first_task)
    split = settings.split or world.example_split
    if random and not settings.split:
        # Without games on disk there are still made-up ones, and no end of them.
        splits = (world.default_split, *world.endless_splits)
        split = splits[0] if splits[0] in world.splits() else splits[-1]
    seed = randbelow(1 << 32) if settings.seed is None else settings.seed
    one = 1 if len(world.tasks(split)) > MANY else None
    limit, sample = (None, one) if random else (one, None)
    tasks = select(world, split, settings.type, limit, sample, seed).tasks
    if not random:
        return tasks[0]
    task = Random(seed).choice(tasks)
    terminal.note(f"Drew {task.reference} with --seed {seed}.")
    return task


def _mode(text: str | None, agent: str | None, screen: bool) -> Mode | None:
    """The mode that ``text`` names. Raises ``ConfigurationError`` where it cannot be had."""
    from typing import get_args

    from tui.play.game import HUMAN, Mode
    from worlds.errors import ConfigurationError, nearest, shown

    if text is None:
        return None
    known: tuple[Mode, ...] = get_args(Mode)
    found: Mode | None = next((mode for mode in known if mode == text), None)
    if found is None:
        raise ConfigurationError(f"--mode: {shown(text)} is no mode; known: {', '.join(known)}.{nearest(text, known)}")
    if not screen:
        raise ConfigurationError(f"--mode {found} needs the screen: a terminal at both ends, and no --plain.")
    if agent == HUMAN and found != "you":
        raise ConfigurationError(f"--mode {found} needs an agent other than 'human', who plays in the mode 'you' alone.")
    return found


def _show(game: GameConfig | None, mode: Mode | None, settings: Settings, record: bool, speed: float | None) -> None:
    """Open the screen, at ``game`` or, without one, at home, and say afterwards what was recorded."""
    from tui import terminal
    from tui.app import HousequestApp, game_screen
    from tui.home.recent import record_files
    from tui.home.screen import HomeScreen

    def home() -> HomeScreen:
        return HomeScreen(settings, record=record, speed=speed)

    if game is None or mode is None:
        app = HousequestApp(home)
    else:
        from tui.home.start import check

        check(game)
        app = HousequestApp(lambda: game_screen(game, mode), home)
    before = {*record_files(unfinished=True), *record_files(unfinished=False)}
    app.run()
    for unfinished, words in ((False, "Recorded in"), (True, "Recorded as far as it went in")):
        for path in reversed(record_files(unfinished=unfinished)):
            if path not in before:
                terminal.note(f"{words} {path}")
    if app.return_code:
        raise typer.Exit(app.return_code)


def _finish(outcome: str) -> None:
    if outcome == "error":
        raise typer.Exit(1)
