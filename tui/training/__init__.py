"""``housequest train``: an adapter for your own language model, from games that an expert or a stronger model won; and
``housequest export``: the same training data for other trainers, from recorded episodes or from the expert's games.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.text import plural
from housequest.worlds.errors import ConfigurationError, KnowledgeError, shown
from housequest.worlds.paths import open_file
from housequest.worlds.systems import replace_file

if TYPE_CHECKING:
    from housequest.agent.training.lora.optimise import TrainingProgress
    from housequest.agent.training.lora.run import Listener

_PACKAGES = ("torch", "transformers", "peft", "gguf")


@options.described
def train(
    model: Path | None = None,
    role: str | None = None,
    prompts_of: list[str] | None = None,
    set_: list[str] | None = None,
    houses: str | None = None,
    games: int = 0,
    human_goals: bool = False,
    runs: list[Path] | None = None,
    epsilon: float = 0.1,
    processes: int | None = None,
    cluster: str | None = None,
    epochs: int | None = None,
    batch_size: int = 8,
    rank: int = 8,
    rate: float = 1e-3,
    context: int = 4_096,
    seed: int = 1,
    device: str = "auto",
    threads: int | None = None,
    max_batch_tokens: int | None = None,
    data: Path | None = None,
    out: Path | None = None,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Teach a language model to play, with a small adapter (LoRA). If interrupted, the same command resumes.

    It learns from made-up houses, games of train, and runs over them; never from valid_seen or valid_unseen. Without MODEL,
    --role distiller trains the small network that tells what was counted in a home in groups.
    """
    if role is not None:
        if model is not None:
            raise ConfigurationError(f"--role {role}: it is a network by itself; leave out {shown(str(model))}.")
        _train_distiller(_sizes(houses or "120"), epochs or 12, seed, out or Path("distiller.weights"), as_json=as_json)
        return
    if model is None:
        raise ConfigurationError("There is nothing to train: name a model's file or folder, or give --role distiller.")
    from housequest.agent.config import pairs
    from housequest.agent.training.lora import run
    from housequest.agent.training.lora.games import Lessons
    from housequest.tui.commands.running import pool

    # Where a model is loaded, transformers would draw a bar of its own; tqdm reads this when it is imported.
    os.environ.setdefault("TQDM_DISABLE", "1")
    missing = [] if dry_run else [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"Training needs PyTorch, transformers, peft and gguf ({', '.join(missing)} missing): "
            'pip install "housequest[train]".'
        )
    agents, settings = tuple(dict.fromkeys(prompts_of or ())), pairs(set_ or (), "--set")
    players, played = _players(runs or ())
    if agents in ((), players):
        settings = settings or played
    agents = agents or players or ("lota",)
    sizes = _sizes(houses or ("0" if runs else "400"))
    if runs and not (sizes[-1] or games) and not set(agents) <= set(players):
        raise ConfigurationError(
            f"--prompts-of: the runs were played by {', '.join(players) or 'nobody'}; leave it out, or let others play as "
            "well: --houses N or --games N."
        )
    lessons = Lessons(agents, settings, sizes[-1], games, human_goals, epsilon, seed)
    recipe = run.LoraRecipe(rank, 2 * rank, rate, epochs or 2, batch_size, context, seed=seed)
    base = run.base_model(model)
    training = run.Training(base, lessons, recipe, tuple(runs or ()), data, *pool(processes, cluster))
    folder = out or Path("adapters") / run.folder_name(base, agents)
    planned = run.of_sizes(training, sizes, folder)
    found: list[dict[str, Any]] = []
    with closing(terminal.StatusLine()) as line:
        listener = _listener(line)
        if dry_run:
            for conversations in run.prepare_all(planned, listener):
                found.append({"conversations": len(conversations), "replies": sum(len(each.learned) for each in conversations)})
        else:
            with warnings.catch_warnings():
                # Of transformers and peft, about their own next versions.
                warnings.simplefilter("ignore")
                found = run.train_all(planned, listener, device=device, threads=threads, batch_tokens=max_batch_tokens)
    found = [each | {"folder": str(one.folder.path)} for each, one in zip(found, planned, strict=True)]
    if dry_run:
        about = [
            f"{each['conversations']:,} conversations with {each['replies']:,} replies to learn, in {each['folder']}"
            for each in found
        ]
    else:
        player = " ".join((f"--agent {agents[0]}", *(f"--set {key}={each}" for key, each in settings.items())))
        about = [*(_table(sizes, found) if len(sizes) > 1 else ()), *_made(found[-1], model, player)]
    several = [{"houses": size} | each for size, each in zip(sizes, found, strict=True)]
    terminal.print_result({"sizes": several, "folder": str(folder)} if len(sizes) > 1 else found[0], about, as_json=as_json)


def _train_distiller(homes: Sequence[int], epochs: int, seed: int, out: Path, *, as_json: bool) -> None:
    try:
        from housequest.agent.training import distilling
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("housequest.agent.explorer"):
            raise
        raise ConfigurationError("--role distiller: `explorer` is not installed here, so nobody distils.") from None
    from housequest.agent.evaluation.render.table import Table

    if len(homes) > 1 or not 0 < homes[0] <= distilling.MOST_HOMES:
        raise ConfigurationError(f"--houses: give one number of homes to learn from, from 1 to {distilling.MOST_HOMES:,}.")
    learned = distilling.trained(homes[0], epochs, seed, out)
    rows = [
        (way, str(one.day), f"{one.precision:.2f}", f"{one.recall:.2f}", f"{one.tokens:,.0f}")
        for way, each in learned.found.items()
        for one in each
    ]
    heard = f"on {learned.examples:,} examples from {plural(homes[0], 'home')} in {_clock(learned.seconds)}"
    about = [
        f"trained   {heard}; loss {learned.loss:.4f}",
        f"file      {out}, {out.stat().st_size:,} bytes",
        f"try it    housequest learn household:7 --agent expert --learn groups --network {out}",
        "",
        *Table(("book", "day", "precision", "recall", "tokens"), tuple(rows)).text(),
    ]
    terminal.print_result(asdict(learned) | {"file": str(out)}, about, as_json=as_json)


def _players(runs: Sequence[Path]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The agents that played ``runs``; and if it is one that is known here, what its settings were but for defaults."""
    from housequest.agent.agents.spec import agent_names, resolve_settings
    from housequest.agent.training.export import players

    found = players(runs)
    settings: dict[str, str] = {}
    for agent, kept in found.items() if len(found) == 1 and set(found) <= set(agent_names()) else ():
        usual = resolve_settings(agent, {})
        settings = {key: str(each) for key, each in kept.items() if each != usual.get(key)}
    return tuple(found), settings


def _sizes(text: str) -> list[int]:
    found = text.split(",")
    if not all(re.fullmatch(r"\s*\d{1,9}\s*", each) for each in found):
        raise ConfigurationError(
            f"--houses: {shown(text)} is not a number of houses; give one such as 400, or several such as 25,50,100."
        )
    return sorted(set(map(int, found)))


def _table(sizes: Sequence[int], made: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    from housequest.agent.evaluation.render.table import Table

    rows = (
        (f"{size:,}", f"{each['tokens']:,}", f"{each['steps']:,}", f"{each['loss']:.4f}", _clock(each["seconds"]))
        for size, each in zip(sizes, made, strict=True)
    )
    yield from Table(("houses", "tokens", "steps", "loss", "trained"), tuple(rows)).text()
    yield ""


def _made(found: Mapping[str, Any], model: Path, player: str) -> Iterator[str]:
    from housequest.agent.training.lora.run import ADAPTER

    adapter = Path(found["folder"]) / ADAPTER
    yield f"trained   {found['steps']:,} steps in {_clock(found['seconds'])} on {found['on']}; loss {found['loss']:.4f}"
    yield f"folder    {adapter.parent}"
    if "file" in found and model.is_file():
        yield f"play      housequest play {player} --model 'llama:{model}?lora={adapter}'"
    elif "file" in found:
        yield f"adapter   {adapter}, for a GGUF file of the same model: --model 'llama:FILE.gguf?lora={adapter}'"


def _listener(line: terminal.StatusLine) -> Listener:
    """Shows how far things are in one line that is written over."""
    from housequest.agent.training.lora.run import Listener

    class Shown(Listener):
        def say(self, text: str) -> None:
            line.say(text)

        def played(self, games: int, of: int) -> None:
            line.write(f"{games:,} of {of:,} games played")

        def learned(self, progress: TrainingProgress) -> None:
            line.write(
                f"step {progress.step:,} of {progress.steps:,}   loss {progress.loss:.3f}   {progress.speed:,.0f} tokens/s   "
                f"{_clock(progress.left)} left"
            )

    return Shown()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


@options.described
def export(
    runs: list[Path] | None = None,
    format: str = "messages",
    all_: bool = False,
    prompts_of: str | None = None,
    set_: list[str] | None = None,
    grant: list[str] | None = None,
    split: str | None = None,
    games: int | None = None,
    human_goals: bool = False,
    epsilon: float | None = None,
    processes: int | None = None,
    cluster: str | None = None,
    shard: str | None = None,
    data: Path | None = None,
    seed: int = 1,
    out: Path | None = None,
) -> None:
    """Write training data from won episodes, or the expert's games. One line of JSON each.

    Splits that agents are evaluated on are never exported.
    """
    from housequest.agent.config import pairs
    from housequest.agent.evaluation.runs.shard import read_shard
    from housequest.agent.training.export import FORMATS, RecordedEpisodes
    from housequest.agent.training.lora.games import Demonstrations, Lessons
    from housequest.tui.commands.running import pool

    if prompts_of is None:
        of_the_expert = {"--set": set_, "--split": split, "--games": games, "--human-goals": human_goals}
        of_the_expert |= {"--grant": grant, "--epsilon": epsilon, "--processes": processes}
        of_the_expert |= {"--cluster": cluster, "--shard": shard, "--data": data}
        if given := [flag for flag, value in of_the_expert.items() if value not in (None, False)]:
            raise ConfigurationError(f"{', '.join(given)}: for the expert's games alone; name an agent with --prompts-of.")
        if not runs:
            raise ConfigurationError("There is nothing to export: give runs, or an agent, such as --prompts-of react.")
        episodes: RecordedEpisodes | Demonstrations = RecordedEpisodes(tuple(runs), lost=all_, seed=seed)
    else:
        if runs or all_ or format == "dpo":
            other = "RUN" if runs else "--all" if all_ else "--format dpo"
            raise ConfigurationError(f"--prompts-of: the expert plays now and wins; leave out {other}, or --prompts-of.")
        lessons = Lessons((prompts_of,), pairs(set_ or (), "--set"), human_goals=human_goals, epsilon=epsilon or 0.0, seed=seed)
        part = None if shard is None else read_shard(shard)
        grants, players = frozenset(grant or ()), pool(processes, cluster)
        episodes = Demonstrations(lessons, split or "train", games, data, grants, *players, part)
    played = lines = 0
    with closing(terminal.StatusLine()) as line, _output(out) as file:
        for played, episode in enumerate(episodes, 1):
            for each in FORMATS[format](episode):
                file.write(json.dumps(each) + "\n")
                lines += 1
            if out is not None and not played % 50:
                line.write(f"{played:,} episodes")
        if not lines:
            raise KnowledgeError(f"There is nothing to export{_left_out(episodes.left_out)}.")
    terminal.note(f"{plural(lines, 'line')} of {plural(played, 'episode')}{_left_out(episodes.left_out)}")


@contextmanager
def _output(out: Path | None) -> Generator[TextIO]:
    """Open the file for the lines, which is there only once it is whole, or standard output."""
    if out is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.part")
    try:
        with TextIOWrapper(open_file(part, "wb"), encoding="utf-8", newline="\n") as file:
            yield file
        replace_file(part, out)
    finally:
        part.unlink(missing_ok=True)


def _left_out(left_out: Counter[str]) -> str:
    told = ", ".join(f"{number:,} {why}" for why, number in sorted(left_out.items()))
    return f"; left out: {told}" if told else ""
