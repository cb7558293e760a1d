"""Training data out: its forms, what is left out of it, what is paired, and the command."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Again, Another, Proceed, Replace
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder
from housequest.agent.models.base import Completion, Message, Model, Request
from housequest.agent.models.scripted import ReplyRule, ScriptedModel
from housequest.agent.roles.base import whole_prompts
from housequest.agent.training.export import (
    FORMATS,
    ExportedEpisode,
    PlayedStep,
    PromptedReply,
    RecordedEpisodes,
    exported,
    joined,
)
from housequest.agent.training.lora.games import Demonstrations, Lessons, demonstrated
from housequest.knowledge.examples import EVALUATION_SEEDS
from housequest.tui.cli import main
from housequest.worlds.errors import KnowledgeError
from housequest.worlds.registry import make_world
from tests.agent.episodes.attending import Back, Person

TURN = ("go to study", "look", "inventory")


class Telling(Model):
    """Says one reply after the other, whatever it is asked."""

    name = "telling"

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies: Iterator[str] = iter(replies)
        self.asked: list[tuple[Message, ...]] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(tuple(request.messages))
        return Completion(next(self._replies))


def said(command: str) -> str:
    return f"Thought: {command} it is\nAction: {command}"


def attended(replies: Sequence[str], person: Person | None = None, *, turns: int = 3) -> tuple[list[Event], Telling]:
    """An episode of react with these replies, and the model that was asked."""
    world, heard = make_world("scripted"), list[Event]()
    model = Telling(replies)
    player = make_agent("react", world=world, model=model)

    def listen(event: Any) -> None:
        if isinstance(event, Event):
            heard.append(event)
        if person is not None:
            person.hear(event)

    terms = EpisodeConfig(world, max_turns=turns)
    asyncio.run(run_episode(world.open(world.task("demo:1")), player, terms, listen, person))
    return heard, model


def pairs(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(pair.chosen, pair.rejected) for pair in exported(tuple(events)).preferences]


LONG = "I would rather tell a story. " * 20


@pytest.mark.parametrize(
    ("replies", "person", "wanted"),
    [
        ([said("look"), "what?", said("go to study"), said("look")], None, [(said("go to study"), "what?")]),
        ([said("look"), LONG, said("go to study"), said("look")], None, [(said("go to study"), LONG)]),
        (
            [said("look"), said("go to study"), said("look")],
            Person(verdicts=[Again("go on")]),
            [(said("go to study"), said("look"))],
        ),
        (
            [said("look"), said("go to study"), said("look")],
            Person(verdicts=[Another()]),
            [(said("go to study"), said("look"))],
        ),
        (
            [said("look"), said("inventory"), said("look"), said("go to study"), said("look")],
            Person(words=[Proceed(), Proceed(), Back(0)]),
            [(said("go to study"), said("inventory"))],
        ),
        ([said("look"), said("go to study"), said("look")], Person(verdicts=[Replace("inventory")]), []),
        ([said("look")] * 3, Person(words=[Proceed(), Back(0)]), []),
    ],
    ids=["unreadable", "cut to a stub", "again", "another", "rewound", "replaced", "the same again"],
)
def test_what_was_done_over_is_paired(replies: list[str], person: Person | None, wanted: list[tuple[str, str]]) -> None:
    events, model = attended(replies, person)
    assert pairs(events) == wanted
    for pair in exported(tuple(events)).preferences:
        assert pair.prompt in model.asked


@pytest.mark.parametrize("replies", [["what?", said("look")], [LONG, said("look")], ["", said("look")]])
def test_the_prompt_of_every_call_is_rebuilt(replies: list[str]) -> None:
    events, model = attended([*replies, said("look"), said("look")])
    prompts = whole_prompts(events).values()
    assert [tuple(Message(one.role, one.content) for one in prompt) for prompt in prompts] == model.asked


def test_what_nobody_should_learn_has_no_weight() -> None:
    person = Person(verdicts=[Replace("inventory")])
    events, _ = attended([said("look"), "what?", said("look"), said("look")], person)
    (line,) = FORMATS["messages"](exported(tuple(events)))
    weights = [(one["content"], one["weight"]) for one in line["messages"] if one["role"] == "assistant"]
    assert weights == [(said("look"), 0), ("what?", 0), (said("look"), 1), (said("look"), 1)]
    outputs = [line["output"] for line in FORMATS["alpaca"](exported(tuple(events)))]
    assert outputs == [said("look")] * 2


@pytest.fixture
def episode() -> ExportedEpisode:
    first = (Message("system", "Play."), Message("user", "You see a mug."))
    calls = [
        PromptedReply(first, "take mug"),
        PromptedReply((*first, Message("assistant", "take mug"), Message("user", "Taken.")), "go home"),
    ]
    steps = (PlayedStep("take mug", "Taken."), PlayedStep("go home", "Home."))
    conversations = tuple(joined("train:1", "react", calls))
    return ExportedEpisode("alfworld", "train:1", "react", "m", True, "You see a mug.", steps, conversations)


ABOUT = {"world": "alfworld", "task": "train:1", "agent": "react", "model": "m", "won": True}


def test_forms(episode: ExportedEpisode) -> None:
    found = {name: list(form(episode)) for name, form in FORMATS.items()}
    assert found["messages"] == [
        {
            "messages": [
                {"role": "system", "content": "Play."},
                {"role": "user", "content": "You see a mug."},
                {"role": "assistant", "content": "take mug", "weight": 1},
                {"role": "user", "content": "Taken."},
                {"role": "assistant", "content": "go home", "weight": 1},
            ],
            **ABOUT,
        }
    ]
    assert found["sharegpt"] == [
        {
            "conversations": [
                {"from": "system", "value": "Play."},
                {"from": "human", "value": "You see a mug."},
                {"from": "gpt", "value": "take mug", "weight": 1},
                {"from": "human", "value": "Taken."},
                {"from": "gpt", "value": "go home", "weight": 1},
            ],
            **ABOUT,
        }
    ]
    assert found["alpaca"] == [
        {"instruction": "Play.\nYou see a mug.", "input": "", "output": "take mug", **ABOUT},
        {"instruction": "Play.\nYou see a mug.\ntake mug\nTaken.", "input": "", "output": "go home", **ABOUT},
    ]
    assert [(line["observation"], line["command"], line["reward"], line["done"]) for line in found["steps"]] == [
        ("You see a mug.", "take mug", 0.0, False),
        ("Taken.", "go home", 1.0, True),
    ]
    assert found["dpo"] == []


def test_a_plan_of_lota_is_one_line_of_alpaca_as_its_planners_learned_it() -> None:
    (found,) = Demonstrations(Lessons(("lota",), {"shots": 0}, epsilon=0.0), "generated:1", 1)
    (line,) = FORMATS["alpaca"](found)
    assert line["instruction"].endswith("\nHuman: find two soapbar and put them in cabinet.\nRobot:")
    assert line["output"].startswith(
        "1. find a soapbar, 2. pick up the soapbar, 3. find a cabinet, 4. put down the soapbar, 5. "
    )


def test_who_scores_every_skill_is_taught_the_same_skills() -> None:
    conversations = [
        [
            one.messages[-1:]
            for episode in Demonstrations(Lessons((agent,), settings, epsilon=0.0), "generated:1", 2)
            for one in episode.conversations
        ]
        for agent, settings in (("saycan", {"shots": 0}), ("lota", {"shots": 0, "exact": True}), ("lota", {"shots": 0}))
    ]
    assert conversations[0] == conversations[1] == conversations[2] != []


def test_demonstrations_are_what_train_learns_from_in_an_order_drawn_by_the_seed() -> None:
    lessons = {one.origin: one for one in demonstrated(Lessons(("react",), houses=8, epsilon=0.0))}
    orders: list[list[str]] = []
    for seed in (1, 1, 2):
        found = list(Demonstrations(Lessons(("react",), epsilon=0.0, seed=seed), "generated", 8))
        assert {episode.origin: episode.conversations for episode in found} == {key: (one,) for key, one in lessons.items()}
        orders.append([episode.origin for episode in found])
    assert orders[0] == orders[1] != orders[2]


def record(folder: Path, name: str, seed: int, reply: Callable[[], Model]) -> None:
    world = make_world("alfworld")
    player = make_agent("react", world=world, model=reply(), seed=1)
    with EpisodeRecorder(folder / f"{name}.jsonl") as recorder:
        env = world.open(world.task(f"generated:{seed}"))
        asyncio.run(run_episode(env, player, EpisodeConfig(world, max_turns=40), recorder))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a won episode, a lost one and one that evaluates; another with one that evaluates."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "evaluates").mkdir()
    (conversation,) = demonstrated(Lessons(("react",), houses=1, epsilon=0.0))
    right = [conversation.messages[place].content for place in conversation.learned]
    record(folder, "won", 0, lambda: Telling(right))
    record(folder, "lost", 1, lambda: ScriptedModel([ReplyRule(reply="Action: look")], name="scripted"))
    for place in (folder, folder / "evaluates"):
        record(place, "evaluates", EVALUATION_SEEDS, lambda: ScriptedModel([ReplyRule(reply="Action: look")], name="scripted"))
    return folder


def test_won_episodes_are_exported_or_all_and_none_that_evaluates(runs: Path) -> None:
    won = RecordedEpisodes([runs])
    assert [episode.origin for episode in won] == ["generated:0"]
    assert set(won.left_out.values()) == {1}
    assert len(won.left_out) == 2
    assert {episode.origin for episode in RecordedEpisodes([runs], lost=True)} == {"generated:0", "generated:1"}
    with pytest.raises(KnowledgeError, match="Agents are evaluated on that"):
        list(RecordedEpisodes([runs, runs / "evaluates"]))


def test_a_seed_draws_the_order_of_recorded_episodes(runs: Path) -> None:
    orders = [tuple(one.origin for one in RecordedEpisodes([runs], lost=True, seed=seed)) for seed in (*range(10), *range(10))]
    assert orders[:10] == orders[10:]
    assert len({*orders}) == 2, "both orders of two episodes"


def refused(*arguments: str) -> int | None:
    with pytest.raises(SystemExit) as ended:
        main(["export", *arguments])
    return ended.value.code if isinstance(ended.value.code, int) else None


def test_the_command_writes_a_file_or_prints(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "data" / "won.jsonl"
    assert refused(str(runs), "--out", str(file)) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "1 line of 1 episode; left out: 1 not won, 1 of 'generated', on which agents are evaluated\n"
    assert refused(str(runs)) == 0
    assert capsys.readouterr().out == file.read_text("utf-8")
    assert list(json.loads(file.read_text("utf-8"))) == ["messages", *ABOUT]
    assert (
        refused("--prompts-of", "react", "--split", "generated:3", "--games", "2", "--format", "steps", "--out", str(file)) == 0
    )
    whole = file.read_text("utf-8").splitlines()
    assert {json.loads(line)["task"] for line in whole} == {"generated:3", "generated:4"}
    assert [file] == list(file.parent.iterdir())
    parts: list[str] = []
    for shard in ("1/2", "2/2"):
        again = ("--prompts-of", "react", "--split", "generated:3", "--games", "2", "--format", "steps", "--shard", shard)
        assert refused(*again, "--out", str(file)) == 0
        parts += file.read_text("utf-8").splitlines()
    assert parts == whole, "of two games in an order that the seed draws, each shard has one"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give runs, or an agent, such as --prompts-of react"),
        (("--prompts-of", "react", "--split", "valid_unseen"), "agents are evaluated on valid_unseen"),
        (("--prompts-of", "react", "--split", "generated:999999", "--games", "2"), "are for evaluation"),
        (("--prompts-of", "react", "--split", "nowhere"), "there is no 'nowhere' to learn from"),
        (("--prompts-of", "react", "--format", "dpo"), "leave out --format dpo"),
        (("--prompts-of", "human"), "asks no language model"),
        (("somewhere", "--games", "2"), "for the expert's games alone"),
        (("--prompts-of", "react", "--games", "0"), "greater than or equal to 1"),
        (("--prompts-of", "react", "--shard", "3/2"), "is not a shard"),
        (("--prompts-of", "react", "--processes", "2", "--cluster", "ray"), "leave out --processes or --cluster"),
        (("--prompts-of", "react", "--cluster", "here"), "is not a cluster"),
        (("somewhere", "--cluster", "ray"), "for the expert's games alone"),
        (("--out", "data.txt"), "ends in .jsonl"),
    ],
)
def test_what_cannot_be_exported_is_said(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(*arguments) == 2
    assert words in capsys.readouterr().err
