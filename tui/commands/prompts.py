"""``housequest prompts``: what an agent sends to its model, and the templates of that, to change them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import typer

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.paths import atomic_write
from housequest.worlds.registry import load_plugin, plugins

prompts_app = typer.Typer(
    help="Prompts: see what an agent sends, and copy its templates to change them.", no_args_is_help=True, rich_markup_mode=None
)


@prompts_app.command()
@options.takes(*options.TASKS, "set", "rules", "rules_budget", "grant")
def show(flags: options.Flags, agent: str, task: str | None = None) -> None:
    """Print the first prompt of each role of an agent, as a chat model gets it in a game.

    The game is really played, and the expert replies in the model's place, so no model is called. If no expert can reply
    for the agent, you see what it sends until it needs a reply.
    """
    import asyncio

    from housequest.agent.config import configure, world_of
    from housequest.agent.episodes.events import CallTiming, Event, ModelCall, PromptMessage
    from housequest.agent.episodes.loop import run_episode
    from housequest.agent.models.registry import EXAMPLE
    from housequest.agent.models.scripted import ReplyRule, ScriptedModel
    from housequest.agent.roles.base import whole_prompts
    from housequest.agent.setup import set_up
    from housequest.tui.commands.play import choose_task

    settings = configure({**flags, "agent": agent, "model": EXAMPLE})
    setup = set_up(settings, world_of(settings))
    env, model = setup.open(choose_task(setup.world, settings, task)), ScriptedModel((ReplyRule(reply=""),), name="nobody")
    for name in plugins("housequest.teachers"):
        env, model = load_plugin("housequest.teachers", name, "teacher")(agent, setup.world, env) or (env, model)
    heard: list[Event | CallTiming] = []
    try:
        ended = asyncio.run(run_episode(env, setup.make_agent(model), setup, heard.append))
    finally:
        env.close()
    events = [event for event in heard if isinstance(event, Event)]
    prompts, sent = whole_prompts(events), dict[str, tuple[PromptMessage, ...]]()
    for event in events:
        if isinstance(event.body, ModelCall):
            sent.setdefault(event.body.role, prompts[event.id])
    if not sent:
        raise Unsupported(ended.message or f"The agent {agent!r} asks no language model here, so it has no prompts.")
    terminal.print_lines(f"=== {role}: {each.role} ===\n{each.text}" for role, prompt in sent.items() for each in prompt)


@prompts_app.command()
@options.described
def write(agent: str, folder: Path) -> None:
    """Copy the templates of an agent into a folder. Change them there, and play with --set prompts=FOLDER."""
    from housequest.agent.agents.spec import agent_spec
    from housequest.agent.roles.own import templates

    spec = agent_spec(agent)
    if "model" not in spec.needs:
        raise ConfigurationError(f"The agent {agent!r} asks no language model, so it has no prompts.")
    found = {folder / f"{name}.txt": resources.files(package) for name, (package, _) in templates(spec.templates).items()}
    if there := next(filter(Path.exists, found), None):
        raise ConfigurationError(f"{there} is there already; name another folder.")
    for file, shipped in found.items():
        atomic_write(file, shipped.joinpath(file.name).read_bytes())
    terminal.print_lines(map(str, found))
    terminal.note(f"A file that you leave out stays as it ships. Play with --agent {agent} --set prompts={folder}")
