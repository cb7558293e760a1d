"""The agents that talk to a model, in conversation with the scripted model that ships."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from housequest.agent.agents.spec import agent_names, agent_spec, make_agent, resolve_settings
from housequest.agent.base import Proceed, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Message
from housequest.agent.models.registry import make_model
from housequest.agent.roles.base import load_prompt, reply_message
from housequest.agent.roles.messages import system_message
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world
from tests.parts import needs

ROUTE = ("go to study", "take key", "go to hall", "go to cellar", "unlock box", "take coin")


def script(folder: Path, text: str) -> str:
    path = folder / "script.yaml"
    path.write_text(dedent(text), "utf-8")
    return f"scripted:{path}"


def episode(
    agent: str,
    model: str,
    *,
    settings: Mapping[str, str] | None = None,
    hints: Mapping[int, str] | None = None,
    rules: tuple[str, ...] = (),
    grants: frozenset[str] = frozenset(),
    max_turns: int = 50,
) -> list[Event]:
    world = make_world("scripted")
    told: list[Event | CallTiming] = []

    class Hinting(Unattended):
        async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed:
            return Proceed((hints[turn],) if hints and turn in hints else ())

    made = make_agent(agent, world=world, model=make_model(model), settings=settings or {})
    terms = EpisodeConfig(world, grants, max_turns, rules=RuleBudget.of_statements(rules))
    asyncio.run(run_episode(world.open(world.task("demo:1")), made, terms, told.append, Hinting()))
    return [event for event in told if isinstance(event, Event)]


def prompts(told: Sequence[Event], role: str) -> list[tuple[Message, ...]]:
    """Each prompt of ``role``, put together again from the record."""
    found: list[tuple[Message, ...]] = []
    said: tuple[Message, ...] = ()
    for event in told:
        if isinstance(event.body, events.ModelCall) and event.body.role == role:
            prompt = said[: event.body.kept] + tuple(Message(m.role, m.content) for m in event.body.added)
            found.append(prompt)
            said = (*prompt, reply_message(event.body.reply))
    return found


def steps(told: Sequence[Event]) -> list[str]:
    return [event.body.command for event in told if isinstance(event.body, events.Stepped)]


def plans(told: Sequence[Event]) -> list[events.Planned]:
    return [event.body for event in told if isinstance(event.body, events.Planned)]


def ended(told: Sequence[Event]) -> events.Ended:
    body = told[-1].body
    assert isinstance(body, events.Ended)
    return body


def react_script(folder: Path, commands: Sequence[str] = ROUTE) -> str:
    replies = "\n".join(f'  - "Thought: on I go\\nAction: {command}"' for command in commands)
    return script(folder, f"replies:\n{replies}\n")


def test_react_wins_by_its_replies(tmp_path: Path) -> None:
    told = episode("react", react_script(tmp_path))
    assert ended(told).outcome == "won"
    assert steps(told) == list(ROUTE)


def test_a_prompt_holds_what_was_seen_and_only_grows(tmp_path: Path) -> None:
    told = episode("react", react_script(tmp_path), rules=("keys lie in studies",), grants=frozenset({"admissible", "type"}))
    seen = prompts(told, "react")
    assert len(seen) == len(ROUTE)
    for before, after in pairwise(seen):
        assert after[: len(before)] == before
    opening = seen[0][-1].content
    assert "Task: take the coin out of the box." in opening
    assert "- keys lie in studies" in opening
    assert "Kind of task: find" in opening
    assert "Commands that are possible now:\ngo to cellar" in opening
    assert seen[1][-1].content.startswith("You are in the study.")
    assert "keys lie" not in seen[1][-1].content, "a rule is told once"


def test_an_unreadable_reply_is_asked_for_again_and_then_spends_the_turn(tmp_path: Path) -> None:
    told = episode(
        "react",
        script(
            tmp_path,
            """
            replies:
              - "I cannot decide, there is so much that could be done here and now."
              - "Action: look"
              - "Hm, hm, hm!"
              - "Hm, hm?"
              - "Thought: at last\\nAction: inventory"
            """,
        ),
        max_turns=3,
    )
    assert steps(told) == ["look", "inventory"]
    assert [event.body.final for event in told if isinstance(event.body, events.ParseFailed)] == [False, False, True]
    assert "That reply could not be read" in prompts(told, "react")[1][-1].content
    assert ended(told).turns == 3


def test_rubbish_for_ever_loses_by_turns(tmp_path: Path) -> None:
    told = episode("react", script(tmp_path, 'default: "?!"'), max_turns=4)
    assert ended(told).outcome == "lost"
    assert ended(told).turns == 4
    assert steps(told) == []


def planned(folder: Path, reasoner: Sequence[str], actor: Sequence[str]) -> str:
    def listed(replies: Sequence[str]) -> str:
        return "\n".join("      - " + repr(reply).replace("'", '"') for reply in replies)

    roles = {"You plan for someone": reasoner, "Someone else plans": actor}
    rules = [f'  - role: "{role}"\n    replies:\n{listed(replies)}\n' for role, replies in roles.items()]
    text = "rules:\n" + "".join(rules)
    path = folder / "script.yaml"
    path.write_text(text, "utf-8")
    return f"scripted:{path}"


FIRST = "Thought: the box is locked\nPlan:\n1. fetch the key\n2. open the box\n3. take the coin"
KEEP = "Thought: good\nPlan: keep"


def grounded(step: int, command: str) -> str:
    return f"Thought: so be it\nStep: {step}\nAction: {command}"


WON = (
    grounded(1, "go to study"),
    grounded(1, "take key"),
    grounded(2, "go to hall"),
    grounded(2, "go to cellar"),
    grounded(2, "unlock box"),
    grounded(3, "take coin"),
)


def test_reasoner_and_actor_win_by_a_plan(tmp_path: Path) -> None:
    told = episode("reasoner-actor", planned(tmp_path, [FIRST, KEEP, KEEP], WON), rules=("coins are round",))
    assert ended(told).outcome == "won"
    assert [plan.steps for plan in plans(told)] == [("fetch the key", "open the box", "take the coin")]
    reasoner, actor = prompts(told, "reasoner"), prompts(told, "actor")
    assert "coins are round" in reasoner[0][-1].content
    assert "coins are round" in actor[0][-1].content
    assert "1. fetch the key" in actor[0][-1].content
    assert len(reasoner) == 2, "it is asked again when the actor goes on to another step, before the next command"
    assert "the actor has gone on to step 2" in reasoner[1][-1].content
    assert "> go to study" in reasoner[1][-1].content
    assert "coins are round" not in reasoner[-1][-1].content + actor[-1][-1].content, "a rule is told once"
    for seen in (reasoner, actor):
        for before, after in pairwise(seen):
            assert after[: len(before)] == before


def test_a_plan_that_leads_nowhere_is_revised_and_the_actor_told(tmp_path: Path) -> None:
    wrong = "Thought: ?\nPlan:\n1. fly to the moon"
    actor = [grounded(1, "fly"), grounded(1, "soar"), grounded(1, "glide"), *WON]
    told = episode("reasoner-actor", planned(tmp_path, [wrong, FIRST, KEEP, KEEP], actor))
    assert ended(told).outcome == "won"
    assert [plan.reason for plan in plans(told)] == ["the episode begins", "the last 3 commands led nowhere"]
    assert "The plan was revised:\n1. fetch the key" in prompts(told, "actor")[3][-1].content
    reviews = [prompt[-1].content for prompt in prompts(told, "reasoner")[1:]]
    assert ["> fly" in review for review in reviews] == [True, False], "what happened is told once"


@pytest.mark.parametrize("settings", [{"stuck_after": "0"}, {"revisions": "0"}])
def test_without_the_trigger_a_wrong_plan_stays(tmp_path: Path, settings: Mapping[str, str]) -> None:
    wrong = "Thought: ?\nPlan:\n1. fly to the moon"
    model = planned(tmp_path, [wrong, FIRST], [grounded(1, "fly")] * 5)
    told = episode("reasoner-actor", model, settings=settings, max_turns=5)
    assert ended(told).outcome == "lost"
    assert len(plans(told)) == 1


def test_the_reasoner_is_asked_again_so_often_and_no_more(tmp_path: Path) -> None:
    wrong = "Thought: ?\nPlan:\n1. fly to the moon"
    model = planned(tmp_path, [wrong] * 9, [grounded(1, "fly")] * 9)
    told = episode("reasoner-actor", model, settings={"stuck_after": "1", "revisions": "2"}, max_turns=9)
    assert len(prompts(told, "reasoner")) == 1 + 2


def test_an_actor_that_says_it_is_stuck_gets_a_plan_within_the_turn(tmp_path: Path) -> None:
    actor = [grounded(1, "stuck"), *WON]
    told = episode("reasoner-actor", planned(tmp_path, ["Thought: ?\nPlan:\n1. sing", FIRST, KEEP, KEEP], actor))
    assert ended(told).outcome == "won"
    assert ended(told).turns == len(WON)
    assert plans(told)[1].reason == "the actor is stuck: so be it"


def test_an_actor_that_stays_stuck_spends_the_turn(tmp_path: Path) -> None:
    told = episode("reasoner-actor", planned(tmp_path, [FIRST, KEEP], [grounded(1, "stuck")] * 3), max_turns=1)
    assert [event.body.kind for event in told][-2:] == ["spent", "ended"]
    assert "stays as it is" in prompts(told, "actor")[1][-1].content


def test_a_hint_reaches_both_roles(tmp_path: Path) -> None:
    told = episode("reasoner-actor", planned(tmp_path, [FIRST, KEEP, KEEP], WON), hints={2: "the key is not far"})
    assert "a hint" in prompts(told, "reasoner")[1][-1].content
    for role in ("reasoner", "actor"):
        assert "the key is not far" in prompts(told, role)[1][-1].content


def test_without_any_plan_the_turn_is_spent(tmp_path: Path) -> None:
    told = episode("reasoner-actor", planned(tmp_path, [KEEP, "no", "no!!", FIRST], WON), max_turns=2)
    assert steps(told) == []
    assert ended(told).turns == 2


def test_a_model_that_has_nothing_to_say_is_an_errored_episode(tmp_path: Path) -> None:
    told = episode("react", react_script(tmp_path, ROUTE[:2]))
    assert (ended(told).outcome, ended(told).boundary) == ("error", "model")


@pytest.mark.parametrize(
    ("package", "name"),
    [("react", "react"), ("reasoner_actor", "reasoner"), pytest.param("pet", "subtasks", marks=needs("pet"))],
)
def test_advice_about_houses_stays_in_houses(package: str, name: str) -> None:
    prompt = load_prompt(f"housequest.agent.agents.{package}", name)
    at_home, elsewhere = (
        system_message(prompt, make_world(world), manual="look").content for world in ("alfworld", "scripted")
    )
    assert at_home == prompt.render("system", manual="look")
    assert "open" in at_home
    assert "open" not in elsewhere
    assert "household" not in elsewhere
    assert "  " not in elsewhere


def test_every_agent_is_named_with_what_it_needs() -> None:
    assert {name for name in agent_names() if "model" not in agent_spec(name).needs} - {"action-attention"} == {
        "expert",
        "human",
    }
    world = make_world("scripted")
    for name in ("react", "reasoner-actor", "human"):
        with pytest.raises(ConfigurationError):
            make_agent(name, world=world)
    with pytest.raises(ConfigurationError, match=r"reasoner-actor'\?"):
        make_agent("reasoner_actor", world=world)


@pytest.mark.parametrize(
    ("key", "value"),
    [("on_subgoals", "on"), ("on_subgoal", "maybe"), ("stuck_after", "x"), ("stuck_after", "-1"), ("temperature", "nan")],
)
def test_a_wrong_setting_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match="reasoner-actor"):
        resolve_settings("reasoner-actor", {key: value})


def test_settings_are_read_as_what_they_are() -> None:
    resolved = resolve_settings("reasoner-actor", {"on_subgoal": "off", "stuck_after": "5", "temperature": "0.5"})
    assert (resolved["on_subgoal"], resolved["stuck_after"], resolved["temperature"]) == (False, 5, 0.5)
