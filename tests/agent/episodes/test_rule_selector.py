"""Rules of a book in an episode: chosen from what the agent was told, recorded by their ids, and fixed by the run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.config import configure
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, ModelCall, RulesShown, Started
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import read_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.registry import make_model
from housequest.agent.models.scripted import load_script
from housequest.agent.roles.brief import LONGEST_LINE
from housequest.agent.setup import read_rules
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Env, Task, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.agent.episodes.attending import Moody
from tests.agent.playing import CHATTING
from tests.backends.policy import Solver
from tests.trusting import trust

BOOK = """\
format: 0.2
rules:
- One thing is carried at a time.
- id: microwave
  statement: The microwave heats what is held.
  types: [heat]
- {id: fridge, statement: The fridge cools what is held., types: [cool]}
- {id: cabinet, statement: A cabinet is opened first., objects: [cabinet]}
- {id: doubtful, statement: The egg is in the bed., objects: [egg], status: candidate}
- {id: wrong, statement: Eggs walk about., status: rejected}
"""
HOUSE = "generated:690"
"""A hot egg is wanted, in a kitchen that has a cabinet."""

SCRIPT = """\
replies:
- "Thought: t\\nAction: look"
- "Thought: t\\nAction: go to cabinet 1"
- "Thought: t\\nAction: look"
- "Thought: t\\nAction: look"
"""


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def terms(folder: Path, world: World) -> EpisodeConfig:
    (folder / "book.yaml").write_text(BOOK)
    return EpisodeConfig(world, max_turns=4, rules=read_rules(str(folder / "book.yaml"), 500))


def script(folder: Path) -> Path:
    (folder / "script.yaml").write_text(SCRIPT)
    return folder / "script.yaml"


class Renamed(Wrapper):
    """A game under another task's name."""

    def __init__(self, env: Env, task: Task) -> None:
        super().__init__(env)
        self._task = task

    @property
    def task(self) -> Task:
        return self._task


def played(folder: Path, world: World, terms: EpisodeConfig, task: Task | None = None) -> list[Event]:
    told: list[Event] = []
    agent = make_agent("react", world=world, model=load_script(script(folder), name="scripted:x"))
    env = Renamed(world.open(world.task(HOUSE)), task or world.task(HOUSE))
    asyncio.run(run_episode(env, agent, terms, lambda event: told.append(event) if isinstance(event, Event) else None))
    return told


def test_the_choice_is_an_event_and_comes_when_it_matters(tmp_path: Path, world: World) -> None:
    events = played(tmp_path, world, terms(tmp_path, world))
    consulted = [event.body for event in events if isinstance(event.body, RulesShown)]
    assert [body.ids for body in consulted] == [("rule-1", "microwave"), ("cabinet",)]
    assert consulted[0].rules == ("One thing is carried at a time.", "The microwave heats what is held.")
    started = events[0].body
    assert isinstance(started, Started)
    assert started.rules_budget == 500


@pytest.mark.heavy
@pytest.mark.parametrize("name", [*CHATTING, "builtin"])
def test_a_rule_is_told_of_where_a_prompt_shows_it_and_nowhere_else(world: World, name: str) -> None:
    given, choice = ("An egg is never blue.", "Sing before you act."), read_rules("human", 2_000)
    offered = replace(choice, rules=(*(Rule("", statement) for statement in given), *choice.rules))
    every = tuple(rule.statement for rule in offered.rules)
    model = make_model("builtin") if name == "builtin" else Moody(Solver())
    told, shown = set[str](), set[str]()
    by_code = {rule.statement for rule in choice.rules if rule.kind == "location"}

    def listen(event: Event | CallTiming) -> None:
        match event.body if isinstance(event, Event) else None:
            case RulesShown(rules=rules, ids=ids):
                assert told.isdisjoint(rules)
                assert len(ids) in {0, len(rules)}
                told.update(rules)
            case ModelCall(added=added):
                text = "\n".join(message.content for message in added if message.role == "user")
                shown.update(rule for rule in every if rule[:LONGEST_LINE] in text)
                # Code reads where things are for the built-in model, and says so when that decides.
                assert shown == told - (by_code if name == "builtin" else set())
            case _:
                pass

    agent = make_agent("reasoner-actor" if name == "builtin" else name, world=world, model=model)
    terms = EpisodeConfig(world, max_turns=12, rules=offered)
    asyncio.run(run_episode(world.open(world.task("example:1")), agent, terms, listen))
    assert "An egg is never blue." in told
    assert len(told) <= 4 if name == "builtin" else len(told) > 9


def test_the_type_counts_only_where_it_is_granted(tmp_path: Path, world: World) -> None:
    heating, unreadable = terms(tmp_path, world), replace(world.task(HOUSE), goal="do it", wording="human:1")

    def first(kind: str, *grants: str) -> tuple[str, ...]:
        granted = replace(heating, grants=frozenset(grants))
        events = played(tmp_path, world, granted, replace(unreadable, type=kind))
        return next(event.body.ids for event in events if isinstance(event.body, RulesShown))

    heat, cool = "pick_heat_then_place_in_recep", "pick_cool_then_place_in_recep"
    assert first(heat) == first(cool) == ("rule-1", "microwave", "fridge")
    assert first(heat, "type") == ("rule-1", "microwave")
    assert first(cool, "type") == ("rule-1", "fridge")


def test_a_resumed_episode_is_told_the_same_and_a_changed_book_is_refused(tmp_path: Path, world: World) -> None:
    terms_before = terms(tmp_path, world)
    events = played(tmp_path, world, terms_before)

    async def again(terms: EpisodeConfig, cut: int) -> list[Event]:
        told: list[Event] = []
        await resume_episode(
            world.open(world.task(HOUSE)),
            lambda model, _: make_agent("react", world=world, model=model),
            terms,
            events[:cut],
            lambda event: told.append(event) if isinstance(event, Event) else None,
            model=load_script(script(tmp_path), name="scripted:x"),
        )
        return told

    (second,) = [at for at, event in enumerate(events) if isinstance(event.body, RulesShown)][1:]
    whole = asyncio.run(again(terms_before, second + 1))
    assert whole[0].id == second + 1
    (tmp_path / "book.yaml").write_text(BOOK.replace("opened first", "never opened"))
    changed = EpisodeConfig(world, max_turns=4, rules=read_rules(str(tmp_path / "book.yaml"), 500))
    with pytest.raises(ConfigurationError, match="does not fit"):
        asyncio.run(again(changed, second + 1))


def planned(folder: Path, **flags: object) -> RunSpec:
    given = {"split": "generated", "limit": 1, "agent": "react", "model": f"scripted:{script(folder)}", "max_steps": 2, **flags}
    return make_run_spec(configure(given, folder))


def test_book_and_budget_are_part_of_the_run(tmp_path: Path) -> None:
    book = tmp_path / "book.yaml"
    book.write_text(BOOK)
    plan, folder = planned(tmp_path, rules=str(book)), tmp_path / "run"
    asyncio.run(run_batch(plan, folder))
    (episode,) = (folder / "episodes").iterdir()
    assert any(isinstance(event.body, RulesShown) for event in read_episode(episode))
    rules = plan.config.rules
    assert rules is not None
    assert (rules.file, rules.budget, [rule.id for rule in rules.rules]) == (
        "book.yaml", 1_000, ["rule-1", "microwave", "fridge", "cabinet"],
    )  # fmt: skip
    with pytest.raises(ConfigurationError, match=r"rules\.budget: 1000 is now 40"):
        asyncio.run(run_batch(planned(tmp_path, rules=str(book), rules_budget=40), folder))
    book.write_text(BOOK + "- Another.\n")
    with pytest.raises(ConfigurationError, match=r"rules\.sha256"):
        asyncio.run(run_batch(planned(tmp_path, rules=str(book)), folder))


def test_rules_are_named_by_a_book_or_not_at_all(tmp_path: Path) -> None:
    from housequest.knowledge.rulebook import library

    own = library().own
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("format: 0.2\nrules:\n- From the library.\n")
    near = tmp_path / "housequest.toml"
    near.write_text('rules = "mine"\n')
    trust(tmp_path)

    def statements(**flags: object) -> tuple[str, ...]:
        rules = planned(tmp_path, **flags).config.rules
        return tuple(rule.statement for rule in rules.rules) if rules else ()

    assert statements() == ("From the library.",)
    assert statements(rules="none") == ()
    assert statements(agent="expert", model=None) == ()
    (tmp_path / "mine").write_text("format: 0.2\nrules:\n- From a file beside it.\n")
    assert statements() == ("From a file beside it.",)
