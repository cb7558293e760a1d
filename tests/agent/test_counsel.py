"""Rules of a book in an episode: chosen from what the agent was told, recorded by their ids, and fixed by the run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.agents.registry import make_agent
from agent.config import configure
from agent.episode import Terms, run_episode
from agent.evaluation.batch import run_batch
from agent.evaluation.plan import Manifest, Plan, make_plan, read_rules
from agent.events import Consulted, Event, Started
from agent.models.scripted import load_script
from agent.record import read_episode
from agent.resume import resume_episode
from worlds.base import World
from worlds.errors import ConfigurationError
from worlds.registry import make_world

BOOK = """\
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


def terms(folder: Path, world: World) -> Terms:
    (folder / "book.yaml").write_text(BOOK)
    return Terms(world.engine, max_turns=4, rules="book.yaml", choice=read_rules(str(folder / "book.yaml"), 500).choice)


def script(folder: Path) -> Path:
    (folder / "script.yaml").write_text(SCRIPT)
    return folder / "script.yaml"


def played(folder: Path, world: World, terms: Terms) -> list[Event]:
    told: list[Event] = []
    agent = make_agent("react", world=world, model=load_script(script(folder), name="scripted:x"))
    env = world.open(world.task(HOUSE))
    asyncio.run(run_episode(env, agent, terms, lambda event: told.append(event) if isinstance(event, Event) else None))
    return told


def test_the_choice_is_an_event_and_comes_when_it_matters(tmp_path: Path, world: World) -> None:
    events = played(tmp_path, world, terms(tmp_path, world))
    consulted = [event.body for event in events if isinstance(event.body, Consulted)]
    assert [body.ids for body in consulted] == [("rule-1", "microwave"), ("cabinet",)]
    assert consulted[0].rules == ("One thing is carried at a time.", "The microwave heats what is held.")
    started = events[0].body
    assert isinstance(started, Started)
    assert started.rules_budget == 500


def test_a_resumed_episode_is_told_the_same_and_a_changed_book_is_refused(tmp_path: Path, world: World) -> None:
    terms_before = terms(tmp_path, world)
    events = played(tmp_path, world, terms_before)

    async def again(terms: Terms, cut: int) -> list[Event]:
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

    (second,) = [at for at, event in enumerate(events) if isinstance(event.body, Consulted)][1:]
    whole = asyncio.run(again(terms_before, second + 1))
    assert whole[0].id == second + 1
    (tmp_path / "book.yaml").write_text(BOOK.replace("opened first", "never opened"))
    changed = Terms(world.engine, max_turns=4, rules="book.yaml", choice=read_rules(str(tmp_path / "book.yaml"), 500).choice)
    with pytest.raises(ConfigurationError, match="does not fit"):
        asyncio.run(again(changed, second + 1))


def planned(folder: Path, **flags: object) -> Plan:
    given = {"split": "generated", "limit": 1, "agent": "react", "model": f"scripted:{script(folder)}", "max_steps": 2, **flags}
    return make_plan(configure(given, folder))


def test_book_and_budget_are_part_of_the_run(tmp_path: Path) -> None:
    book = tmp_path / "book.yaml"
    book.write_text(BOOK)
    plan, folder = planned(tmp_path, rules=str(book)), tmp_path / "run"
    asyncio.run(run_batch(plan, folder))
    (episode,) = (folder / "episodes").iterdir()
    assert any(isinstance(event.body, Consulted) for event in read_episode(episode))
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


def test_a_manifest_from_before_rules_were_chosen_is_read(tmp_path: Path) -> None:
    (tmp_path / "book.yaml").write_text("- One.\n- Two.\n")
    text = planned(tmp_path, rules=str(tmp_path / "book.yaml")).manifest.model_dump(mode="json")
    text["configuration"]["rules"] = {"file": "book.yaml", "sha256": "ab", "statements": ["One.", "Two."]}
    rules = Manifest.model_validate(text).configuration.rules
    assert rules is not None
    assert (rules.statements, rules.budget) == (("One.", "Two."), None)


def test_rules_are_named_by_a_book_or_not_at_all(tmp_path: Path) -> None:
    from knowledge.library import library

    own = library().own
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("- From the library.\n")
    near = tmp_path / "housequest.toml"
    near.write_text('rules = "mine"\n')

    def statements(**flags: object) -> tuple[str, ...]:
        rules = planned(tmp_path, **flags).config.rules
        return rules.statements if rules else ()

    assert statements() == ("From the library.",)
    assert statements(rules="none") == ()
    assert statements(agent="expert", model=None) == ()
    (tmp_path / "mine").write_text("- From a file beside it.\n")
    assert statements() == ("From a file beside it.",)
