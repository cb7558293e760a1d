"""Action Attention: its network, its embedding, PET's modules without a model, and whole games."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from housequest.agent.agents.action_attention import ActionAttentionSettings
from housequest.agent.agents.action_attention.agent import ActionAttention, finished, relevance, subgoals
from housequest.agent.agents.action_attention.network import (
    BEGINNING,
    SHIPPED,
    UNKNOWN,
    AttentionNetwork,
    AttentionPolicy,
    AttentionShape,
    WordEmbedding,
    WordVocabulary,
    embedding_sizes,
    load_policy,
    read_weights,
)
from housequest.agent.agents.checking import check_agent
from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Grants
from housequest.agent.config import configure
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.episodes.loop import run_episode
from housequest.agent.networks import Floats
from housequest.agent.setup import set_up
from housequest.knowledge.examples import subtask_words
from housequest.worlds.base import Env, Observation, Task, World
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.household.belief import masked, names, possible
from housequest.worlds.household.goals import SYNONYMS, Skill
from housequest.worlds.registry import make_world
from tests.agent.golden import Answering
from tests.backends.policy import Solver
from tests.irregular import check_irregular
from tests.parts import needs

HOUSES = ("example:1", "example:2", "example:3")
SMALL = AttentionShape(embedded=8, width=8, layers=2, heads=2, hidden=6)
ALONE = {"plan": False, "eliminate": False}
MODULES: dict[str, dict[str, Any]] = {"alone": ALONE, "eliminate": {"plan": False}, "plan": {"eliminate": False}, "pet": {}}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


@pytest.fixture(scope="module")
def policy() -> AttentionPolicy:
    return load_policy()


def episode(
    world: World, task: Task, settings: dict[str, Any], policy: AttentionPolicy | None = None, most: int = 50
) -> tuple[events.Ended, list[Event]]:
    assert world.household is not None
    read = ActionAttentionSettings(**settings)
    agent = ActionAttention(policy or load_policy(), world.household, read)
    told: list[Event | CallTiming] = []
    terms = EpisodeConfig(world, frozenset({"admissible"}), most)
    ended = asyncio.run(run_episode(world.open(task), agent, terms, told.append))
    return ended, [event for event in told if isinstance(event, Event)]


def bodies(played: Sequence[Event], kind: str) -> list[Any]:
    return [event.body for event in played if event.body.kind == kind]


def small(seed: int = 1) -> tuple[AttentionNetwork, WordVocabulary, dict[str, Floats]]:
    random = np.random.default_rng(seed)
    words = WordVocabulary(["mug", "drawer", "go", "to", "take", "from"])
    sizes = {**embedding_sizes(len(words), SMALL.embedded), **SMALL.weights()}
    weights: dict[str, Floats] = {name: random.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    return AttentionNetwork(SMALL, weights), words, weights


# Words.


def test_names_keep_their_numbers_and_articles_are_left_out() -> None:
    words = WordVocabulary(["mug", "coffeemachine", "take", "sinkbasin", "from"])
    first = len((UNKNOWN, BEGINNING))
    assert words.read("Take the mug 12 from a Coffee Machine 2.") == (
        (first + 2, 0),
        (first, 12),
        (first + 4, 0),
        (first + 1, 2),
    )
    assert words.read("mugs, zebra") == ((first, 0), (0, 0))
    assert words.read("the sink") == ((first + 3, 0),)
    assert words.read("mug 999999") == ((first, 63),)
    assert words.read("") == ()


def test_the_network_reads_by_the_synonyms_that_it_was_trained_with() -> None:
    """Another synonym changes what the file that ships reads: train it again, or keep these for it."""
    told = json.dumps(SYNONYMS, sort_keys=True)
    assert sha256(told.encode()).hexdigest()[:12] == "ceed636d0800"


# The network.


def test_scores_follow_their_commands_whatever_the_order() -> None:
    network, _, _ = small()
    random = np.random.default_rng(2)
    task, history, seen, *commands = random.normal(size=(8, SMALL.embedded)).astype(np.float32)
    scores = network.scores(task, history, seen, np.stack(commands))
    back = network.scores(task, history, seen, np.stack(commands[::-1]))
    assert scores.shape == (5,)
    assert np.allclose(scores, back[::-1], atol=1e-4)


def test_a_key_is_its_commands_alone() -> None:
    """Commands do not see each other (equation 4): two that are equal score equal, whatever else there is."""
    network, _, _ = small()
    random = np.random.default_rng(3)
    task, history, seen, one, other = random.normal(size=(5, SMALL.embedded)).astype(np.float32)
    scores = network.scores(task, history, seen, np.stack([one, other, one]))
    assert np.isclose(scores[0], scores[2], atol=1e-5)
    assert not np.isclose(scores[0], scores[1], atol=1e-3)


def test_everything_that_is_told_counts() -> None:
    network, _, _ = small()
    random = np.random.default_rng(4)
    told = list(random.normal(size=(3, SMALL.embedded)).astype(np.float32))
    commands = random.normal(size=(4, SMALL.embedded)).astype(np.float32)
    usual = network.scores(*told, commands)
    for place in range(3):
        changed = list(told)
        changed[place] = random.normal(size=SMALL.embedded).astype(np.float32)
        assert not np.allclose(network.scores(*changed, commands), usual, atol=1e-3)


def test_a_text_has_the_same_vector_alone_and_among_others() -> None:
    _, words, weights = small()
    embedding = WordEmbedding(words, weights)
    texts = ["go to drawer 1", "take mug 2 from drawer 1", "", "take mug 1 from drawer 2"]
    together = asyncio.run(embedding.embed(texts))
    assert all((embedding.vector(text) == vector).all() for text, vector in zip(texts, together, strict=True))
    # A name is bound to its number, so that exchanged numbers make another text.
    assert not np.allclose(together[1], together[3], atol=1e-2)


def test_the_order_of_words_tells_from_and_to_apart() -> None:
    _, words, weights = small()
    embedding = WordEmbedding(words, weights)
    assert not np.allclose(embedding.vector("from drawer to mug"), embedding.vector("from mug to drawer"), atol=1e-2)


class Drawn:
    """An embedding of its own: a vector drawn by the text. It keeps the texts that it is given."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Sequence[Floats]:
        self.texts += texts
        return [np.random.default_rng([*text.encode()]).normal(size=self.size).astype(np.float32) for text in texts]


class Watched(AttentionNetwork):
    """A network that keeps what it is given."""

    def __init__(self, shape: AttentionShape, weights: dict[str, Floats]) -> None:
        super().__init__(shape, weights)
        self.given: list[tuple[Floats, ...]] = []

    def scores(self, task: Floats, history: Floats, observation: Floats, commands: Floats) -> Floats:
        self.given.append((task, history, observation, commands))
        return super().scores(task, history, observation, commands)


def test_another_embedding_takes_the_place_of_ours() -> None:
    """The network is given its vectors: of the task, of the average of what was seen before, of what is seen, of commands."""
    network, embedding = Watched(SMALL, small()[2]), Drawn(SMALL.embedded)
    policy = AttentionPolicy(network, embedding)
    for seen in (["a", "b", "c"], ["a"], ["a", "b", "a"]):
        task, *texts = asyncio.run(Drawn(SMALL.embedded).embed(["t", *seen, "x", "y"]))
        found = asyncio.run(policy.shares("t", seen, ["x", "y"]))
        before = np.mean(texts[: len(seen) - 1], 0) if len(seen) > 1 else np.zeros(SMALL.embedded)
        for given, wanted in zip(network.given.pop(), (task, before, texts[len(seen) - 1], np.stack(texts[-2:])), strict=True):
            assert np.allclose(given, wanted, atol=1e-6)
        assert np.isclose(found.sum(), 1, atol=1e-5)
    # Each text is embedded once.
    assert sorted(embedding.texts) == ["a", "b", "c", "t", "x", "y"]


# PET's modules without a model.


def walked(world: World, task: Task, commands: Sequence[str]) -> tuple[Env, list[Any]]:
    assert world.household is not None
    env = world.open(task)
    beliefs = [world.household.begin(env.reset().observation)]
    for command in commands:
        beliefs.append(world.household.update(beliefs[-1], command, env.step(command).observation))
    return env, beliefs


def test_each_sub_task_ends_with_what_ends_it(world: World) -> None:
    """Along the expert's play, every sub-task is called finished once, in order."""
    for house in HOUSES:
        task = world.task(house)
        assert world.household is not None
        expert, env = world.expert(), world.open(task)
        opening = env.reset().observation
        memory, belief = expert.begin(task.goal, opening), world.household.begin(opening)
        plan = list(subgoals(task.goal, belief, world.household))
        assert plan
        won = False
        while not won:
            command, _, memory = expert.decide(memory)
            step = env.step(command)
            memory = expert.observe(memory, command, step.observation)
            before, belief = belief, world.household.update(belief, command, step.observation)
            won = step.won
            if plan and finished(plan[0], before, belief):
                plan.pop(0)
        assert plan == []


def test_a_goal_in_other_words_is_guessed_and_nonsense_is_not_planned(world: World) -> None:
    assert world.household is not None
    _, (belief,) = walked(world, world.task("example:1"), ())
    kinds = sorted({one.kind for one in belief.receptacles})
    guessed = subgoals(f"Please carry a mug over to the {kinds[0]}", belief, world.household)
    assert [subtask_words(one) for one in guessed] == ["take a mug", f"put the mug in or on the {kinds[0]}"]
    assert subgoals("Make me happy.", belief, world.household) == ()


def test_what_a_sub_task_names_is_relevant_and_what_was_seen_too(world: World) -> None:
    assert world.household is not None
    counts = world.household.counts()
    _, (belief,) = walked(world, world.task("example:1"), ())
    place = belief.receptacles[0]
    put = relevance([Skill("put", "mug", place.kind)], belief, counts)
    assert {one.name for one in belief.receptacles if put[one.name] == 1} == {
        one.name for one in belief.receptacles if one.kind == place.kind
    }
    pick = relevance([Skill("pick", "mug")], belief, counts)
    assert max(pick.values()) == 1
    assert 0 < min(pick.values()) < 0.1


# What the network is told.


class Asked(AttentionPolicy):
    """The policy that ships, or with ``wish`` one that wants a command with these words; it keeps what it is asked."""

    def __init__(self, wish: str | None = None) -> None:
        super().__init__(*read_weights(SHIPPED))
        self.asked: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
        self._wish = wish

    async def shares(self, task: str, seen: Sequence[str], commands: Sequence[str]) -> Floats:
        self.asked.append((task, tuple(seen), tuple(commands)))
        found = await super().shares(task, seen, commands)
        return found if self._wish is None else np.array([self._wish in command for command in commands], np.float32)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "settings", [{}, {"eliminate": False}, {"plan": False}, ALONE], ids=["pet", "plan", "eliminate", "alone"]
)
@pytest.mark.parametrize("house", HOUSES)
def test_its_task_is_the_present_sub_task(world: World, house: str, settings: dict[str, Any]) -> None:
    policy, task = Asked(), world.task(house)
    _, played = episode(world, task, settings, policy)
    steps = next((body.steps for body in bodies(played, "planned")), ())
    asked, present = iter(policy.asked), 0
    for event in played:
        if event.body.kind == "progressed":
            present = event.body.step
        if event.body.kind == "stepped":
            assert next(asked)[0] == (steps[present] if present < len(steps) else task.goal)
    assert next(asked, None) is None
    assert bool(steps) == settings.get("plan", True)


@pytest.mark.heavy
@pytest.mark.parametrize("settings", [{}, {"plan": False}], ids=["pet", "eliminate"])
def test_what_is_masked_is_neither_seen_nor_offered_and_all_else_is(world: World, settings: dict[str, Any]) -> None:
    """What each turn hides follows from the record: the last verdict on each name under the present task."""
    shown = 0
    # In the last, the drawer is masked until the first of two knives lies in it.
    for task in map(world.task, (*HOUSES, "generated:55")):
        policy = Asked()
        _, played = episode(world, task, {**settings, "threshold": 0.2, "again": True}, policy)
        assert world.household is not None
        started = played[0].body
        assert isinstance(started, events.Started)
        raw, verdicts = [started.opening], dict[tuple[str, str], bool]()
        belief, asked = world.household.begin(Observation(started.opening)), iter(policy.asked)
        env = world.open(task)
        env.reset()
        for event in played:
            if event.body.kind == "judged":
                verdicts |= {(event.body.target, thing.name): thing.masked for thing in event.body.things}
            if event.body.kind == "stepped":
                told, seen, commands = next(asked)
                low = {
                    name for (target, name), masks in verdicts.items() if masks and target == " ".join(told.split()).rstrip(".")
                }
                hidden = low - {belief.held} - {one.name for one in belief.here()}
                assert list(seen[1:]) == [masked(text, hidden) for text in raw[1:]]
                assert names(seen[0]) == names(masked(raw[0], hidden))
                assert possible(env.admissible_commands() or (), hidden) == commands
                shown += seen[1:] != tuple(raw[1:])
                raw.append(event.body.observation)
                env.step(event.body.command)
                belief = world.household.update(belief, event.body.command, Observation(event.body.observation))
    assert shown > 5


@pytest.mark.parametrize("again", [False, True])
def test_what_taught_nothing_is_given_again_only_where_that_is_set(world: World, again: bool) -> None:
    _, played = episode(world, world.task("example:1"), {**ALONE, "again": again}, Asked("inventory"), most=6)
    commands = [body.command for body in bodies(played, "stepped")]
    assert commands[0] == "inventory"
    assert (commands == ["inventory"] * 6) == again
    assert again or all(first != second for first, second in pairwise(commands))


# Whole games.


@pytest.mark.heavy
@pytest.mark.parametrize("house", HOUSES)
@pytest.mark.parametrize("settings", MODULES.values(), ids=MODULES)
def test_a_bundled_house_is_won(world: World, policy: AttentionPolicy, house: str, settings: dict[str, Any]) -> None:
    ended, played = episode(world, world.task(house), settings, policy)
    assert ended.outcome == "won"
    assert bool(bodies(played, "planned")) == settings.get("plan", True)
    assert bool(bodies(played, "judged")) == settings.get("eliminate", True)
    # The last sub-task ends with the game or just before.
    for plan in bodies(played, "planned"):
        tracked = [body.step for body in bodies(played, "progressed")]
        assert tracked == list(range(1, len(plan.steps)))
    assert not bodies(played, "called")


@pytest.mark.games
@pytest.mark.heavy
def test_published_games_are_won(alfworld_games: Path, policy: AttentionPolicy) -> None:
    world = make_world("alfworld", data=alfworld_games)
    tasks = world.tasks("valid_seen")[::7]
    for settings in ({**ALONE, "again": True}, {}):
        won = sum(episode(world, task, settings, policy)[0].outcome == "won" for task in tasks)
        assert won >= 0.9 * len(tasks)


def test_two_plays_are_alike_to_the_byte(world: World, policy: AttentionPolicy) -> None:
    first, second = (episode(world, world.task("example:2"), {}, one)[1] for one in (policy, load_policy()))
    assert [event.body.model_dump_json() for event in first] == [event.body.model_dump_json() for event in second]


@pytest.mark.heavy
def test_games_played_at_once_are_as_when_played_alone(world: World) -> None:
    """One agent plays them all, so what it remembers of texts must not change what it does."""
    assert world.household is not None
    agent = ActionAttention(load_policy(), world.household, ActionAttentionSettings())
    terms = EpisodeConfig(world, frozenset({"admissible"}))

    async def together() -> list[list[Event | CallTiming]]:
        heard: list[list[Event | CallTiming]] = [[] for _ in HOUSES]
        tasks = [world.task(house) for house in HOUSES]
        await asyncio.gather(
            *(run_episode(world.open(task), agent, terms, told.append) for task, told in zip(tasks, heard, strict=True))
        )
        return heard

    for house, heard in zip(HOUSES, asyncio.run(together()), strict=True):
        alone = episode(world, world.task(house), {})[1]
        assert [event.body for event in heard if isinstance(event, Event)] == [event.body for event in alone]


@pytest.mark.heavy
@pytest.mark.parametrize("settings", [ALONE, {}], ids=["alone", "pet"])
def test_it_is_told_nothing_but_what_was_seen_and_what_is_admissible(world: World, settings: dict[str, Any]) -> None:
    for house in HOUSES:
        policy, task = Asked(), world.task(house)
        _, played = episode(world, task, settings, policy)
        started = played[0].body
        assert isinstance(started, events.Started)
        told = started.opening + "".join(body.observation for body in bodies(played, "stepped"))
        texts = {text for given, seen, commands in policy.asked for text in (given, *seen, *commands)}
        assert {name for text in texts for name in names(text)} <= set(names(told))
        assert not [text for text in texts if task.id in text or task.type in text]


def test_the_contract_is_kept(world: World) -> None:
    report = asyncio.run(check_agent("action-attention", world, world.task("example:1")))
    assert report.broken == ()


def test_without_the_grant_it_says_what_it_needs(world: World) -> None:
    agent = make_agent("action-attention", world=world)
    with pytest.raises(ConfigurationError, match="--grant admissible"):
        agent.begin("put a mug in desk.", Observation("You see nothing."), Grants())


@pytest.mark.parametrize(
    "flags",
    [
        {"agent": "action-attention"},
        pytest.param(
            {"agent": "pet", "model": "openai:some@http://127.0.0.1:9/v1", "set": {"acting": "action-attention"}},
            marks=needs("pet"),
        ),
    ],
)
def test_a_run_without_the_grant_is_refused_before_it_starts(flags: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="--grant admissible"):
        set_up(configure(flags))


@needs("pet")
def test_a_world_that_is_no_household_is_refused() -> None:
    with pytest.raises(Unsupported, match="plays households"):
        make_agent("pet", world=make_world("scripted"), model=Answering(Solver()), settings={"acting": "action-attention"})


@needs("pet")
@pytest.mark.parametrize("house", HOUSES[:2])
def test_pet_plans_eliminates_and_tracks_for_it_by_a_model(world: World, house: str) -> None:
    told: list[Event | CallTiming] = []
    agent = make_agent("pet", world=world, model=Answering(Solver()), settings={"acting": "action-attention"})
    terms = EpisodeConfig(world, frozenset({"admissible"}))
    ended = asyncio.run(run_episode(world.open(world.task(house)), agent, terms, told.append))
    assert ended.outcome == "won"
    played = [event for event in told if isinstance(event, Event)]
    assert {body.role for body in bodies(played, "called")} == {"subtasks", "tracker", "eliminator"}


def test_weights_are_a_regular_file(tmp_path: Path) -> None:
    check_irregular(read_weights, tmp_path)
