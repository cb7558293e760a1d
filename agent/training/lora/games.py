"""Games of agents with the expert as their model, to learn from and as example exchanges for prompts.

The agent's real code asks, and the reply is the expert's move in the role's form. Games are never from ``valid_seen`` or
``valid_unseen``, and example exchanges are from made-up houses that are never evaluated.
"""

from __future__ import annotations

import asyncio
import platform
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Lock

from housequest.agent.agents.spec import agent_names, agent_spec, make_agent, resolve_settings
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Event, ModelCall, ParseFailed
from housequest.agent.episodes.loop import run_episode
from housequest.agent.evaluation.runs.batch import rare_collections
from housequest.agent.evaluation.runs.shard import Shard
from housequest.agent.evaluation.runs.spec import installed_version
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Scores, TokenChoice
from housequest.agent.processes import Pool, in_processes
from housequest.agent.roles import brief
from housequest.agent.roles.base import Exchange, as_chat, load_prompt, plain_text, whole_prompts
from housequest.agent.roles.demonstrations import STUCK, DemonstratedRole, Demonstrator, Lesson, Reply, with_ways
from housequest.agent.training.corpus import step_of, taught
from housequest.agent.training.export import Conversation, ExportedEpisode, PlayedStep, PromptedReply, joined
from housequest.knowledge.examples import EVALUATION_SEEDS, LEARNT_FROM, subtasks_of_goal
from housequest.worlds.alfworld.expert import make_expert
from housequest.worlds.alfworld.games import TRAJECTORY_FILE, sentences_of
from housequest.worlds.alfworld.text import HOUSEHOLD, read_goal
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Env, Observation, Step, Task, Transition, World
from housequest.worlds.env import Wrapper
from housequest.worlds.errors import ConfigurationError, ModelError, shown
from housequest.worlds.household.base import BelievingEnv
from housequest.worlds.household.belief import Belief, kind
from housequest.worlds.household.goals import Goal, Skill
from housequest.worlds.household.world import EXAMPLE, GENERATED
from housequest.worlds.options import Scalar
from housequest.worlds.paths import alfworld_data
from housequest.worlds.tasks import HELD_OUT, read_split

RARE = 0.02  # A place with a lower probability does not matter in the search for an object.
REFUSED = 0.5  # The share of random commands that are likely to be refused, and among these of repeated commands.


class Knowing(Wrapper):
    """A game with the true goal ``goal`` and the expert, who knows only the texts that the game gave."""

    opening: Observation
    played: tuple[Transition, ...]

    def __init__(self, world: World, env: Env, goal: Goal, random: Random, *, epsilon: float) -> None:
        super().__init__(BelievingEnv(env, HOUSEHOLD))
        self.world, self.goal = world, goal
        self._random, self._epsilon, self._expert = random, epsilon, make_expert()
        self.reset()

    def reset(self) -> Step:
        step = self.env.reset()
        self.opening, self.played = step.observation, ()
        self._begun = replace(self._expert.begin("", self.opening), goal=self.goal)
        self._scene = brief.BriefState(self._begun.belief)
        return step

    def step(self, command: str) -> Step:
        step = self.env.step(command)
        self.played = (*self.played, Transition(command, step.observation))
        return step

    @property
    def scene(self) -> brief.BriefState:
        if new := self.played[len(self._scene.seen) :]:
            self._scene = self._scene.after(new)
        return self._scene

    @property
    def belief(self) -> Belief:
        return self.scene.belief

    def move(self, part: str | None = None) -> Lesson:
        """The expert's next move, for the whole goal or for only a ``part`` of it."""
        scene, goal = self.scene, self.goal
        if goal.lamp and part == subtasks_of_goal(goal)[0]:
            goal = Goal("pick_and_place_simple", goal.object)  # do not look for the lamp at the same time
        memory = replace(self._begun, goal=goal, belief=scene.belief, failed=frozenset(scene.tried))
        return taught(self._expert, memory, goal)

    def lesson(self, request: Request | None = None, part: str | None = None) -> tuple[Lesson, bool]:
        """The next move, or sometimes a random command, which is not to be learned. Raises ``ModelError`` if the command names
        an object that the prompt of ``request`` leaves out."""
        lesson = self.move(part)
        if self._random.random() < self._epsilon:
            return replace(lesson, command=self._misstep()), False
        if request is not None and lesson.command != STUCK:
            known = {one.name for one in (*self.belief.receptacles, *self.belief.items)}
            for name in map(" ".join, pairwise(lesson.command.split())):
                if name in known and not any(name in message.content for message in request.messages):
                    raise ModelError(f"The expert would name {name}, which the prompt leaves out; this game teaches nothing.")
        return lesson, True

    def _misstep(self) -> str:
        """A random command. Some are refused, like those of small models: a repeated one, or a place with too high a number."""
        if self._random.random() < REFUSED and self.belief.receptacles:
            if self.played and self._random.random() < REFUSED:
                return self.played[-1].command
            place = self._random.choice(self.belief.receptacles).kind
            return f"go to {place} {1 + sum(one.kind == place for one in self.belief.receptacles)}"
        return self._random.choice(self.env.admissible_commands() or ("look",))

    def left(self) -> tuple[Skill, ...]:
        return self.goal.steps()[step_of(self.goal, self.belief) :]

    @property
    def advanced(self) -> bool:
        seen = self.scene.seen
        return not seen or step_of(self.goal, seen[-1][0]) != step_of(self.goal, self.belief)

    def searched(self, thing: str, places: list[str]) -> list[str]:
        counts, room = HOUSEHOLD.counts(), self._begun.room
        return sorted(places, key=lambda one: (1 + counts.openable(kind(one))) / counts.chance(thing, kind(one), room))

    def matters(self, name: str, subgoals: tuple[Skill, ...], *, place: bool) -> bool:
        if not place:
            return kind(name) in {one.object for one in subgoals}
        if any(kind(name) == one.receptacle for one in with_ways(subgoals)):
            return True
        counts, room = HOUSEHOLD.counts(), self._begun.room
        sought = [one.object for one in subgoals if one.verb in {"pick", "use"}]
        return any(counts.chance(thing, kind(name), room) >= RARE for thing in sought if thing)


MOST_STEPS = 50
_SEARCHER = "housequest.agent.skills.controller"
_SENTENCE = re.compile(r"^(Thought: |<think>|\d+\. )([a-z])", re.MULTILINE)
"""The beginning of a thought or a plan's step with a small letter."""
_NEVER = -30.0  # The log probability of other replies than the expert's, in nats.
_TOLD = ("completions", "log_probabilities", "scoring", "singly", "choices", "bias", "deterministic")
LIKE_LLAMA = Capabilities(**dict.fromkeys(_TOLD, True))  # The capabilities of a ``llama:`` model that change a prompt.


class Teacher(Model):
    """Answers the prompts of ``agent`` with the expert's moves, as a model with the capabilities ``can``. ``calls`` are its
    prompts and replies."""

    name = "expert"

    def __init__(self, agent: str, knows: Demonstrator, can: Capabilities = LIKE_LLAMA) -> None:
        self._agent, self._knows, self._can = agent, knows, can
        self.calls: list[PromptedReply] = []

    async def capabilities(self) -> Capabilities:
        """The capabilities that change a prompt. The expert needs no grammar for its replies."""
        return self._can

    async def complete(self, request: Request) -> Completion:
        marked = as_chat(request.text) if request.raw else ()
        said = self._reply(replace(request, messages=marked, raw=False) if marked else request)
        if request.choices is not None and said.text not in request.choices:
            raise ModelError(f"The expert would say {said.text!r}, which is none of the choices; this game teaches nothing.")
        self.calls.append(PromptedReply(self._asked(request), said.text, said.learned, request.raw))
        other = "Yes" if said.text == "No" else "No"
        tokens = (TokenChoice(said.text, 0.0, ((said.text, 0.0), (other, _NEVER))),) if request.top_logprobs else ()
        return Completion(said.text, tokens=tokens)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        """Score the expert's reply as certain, and no other text."""
        certain = (await self.complete(Request(messages, choices=continuations))).text
        return Scores(tuple(0.0 if text == certain else -1.0 for text in continuations))

    @cached_property
    def _roles(self) -> tuple[tuple[str, DemonstratedRole], ...]:
        """The beginnings of prompts with their roles of this agent, the longest first."""
        specs = [agent_spec(name) for name in (self._agent, *agent_spec(self._agent).wraps) if name in agent_names()]
        modules = [spec.roles.demonstrations for spec in specs if spec.roles.demonstrations]
        modules += [_SEARCHER] if any(spec.searches for spec in specs) else []
        found: list[tuple[str, DemonstratedRole]] = []
        for role in (role for module in modules for role in import_module(module).ROLES):
            sections = load_prompt(role.package, role.template).sections
            found.append(((sections.get("system") or sections["opening"]).partition("$")[0].strip(), role))
        return tuple(sorted(found, key=lambda one: -len(one[0])))

    def _reply(self, request: Request) -> Reply:
        """The expert's reply. Raises ``ModelError`` for an unknown role."""
        text, roles = request.messages[0].content, self._roles
        begun = (role for begins, role in roles if text.startswith(begins))
        role = next(begun, None) or next((role for _, role in roles if role.mark and role.mark in text), None)
        if role is None:
            raise ModelError(f"The expert does not know who asks: {text[:60]!r}.")
        said = role.reply(self._knows, request)
        # The forms of roles begin thoughts and steps with a capital, so the model should learn that too.
        return Reply(_SENTENCE.sub(lambda begun: begun[1] + begun[2].upper(), said.text), said.learned)

    def _asked(self, request: Request) -> tuple[Message, ...]:
        """The messages of ``request``; plain text is split again at earlier replies."""
        if not request.raw:
            return tuple(request.messages)
        text = request.text
        wholes: list[tuple[Message, ...]] = [call.whole for call in self.calls if text.startswith(plain_text(call.whole))]
        told = max(wholes, key=len, default=())
        return (*told, Message("user", text.removeprefix(plain_text(told))))


def can_teach(agent: str) -> bool:
    return agent_spec(agent).roles.demonstrations is not None


def check_taught(agent: str) -> None:
    """Raise ``ConfigurationError`` for an agent whose replies the expert cannot write."""
    spec = agent_spec(agent)
    if "model" not in spec.needs:
        raise ConfigurationError(f"The agent {shown(agent)} asks no language model, so there is nothing to teach one.")
    if not can_teach(agent):
        known = ", ".join(filter(can_teach, agent_names()))
        raise ConfigurationError(
            f"The expert cannot write the replies of the agent {shown(agent)}, only of {known}. Another agent learns from "
            "games that it won with a stronger model: --from RUN, and without --houses and --games."
        )


DEFAULT_HOUSES = 1_000  # Made-up houses that are played if no number is given.


@dataclass(frozen=True, slots=True)
class Lessons:
    """The games to learn from: numbers of made-up ``houses`` and of ``games`` of ``train``, each played by all ``agents``. With
    ``human_goals`` each game of ``train`` is played again for every annotator's goal. ``epsilon`` is the share of random
    commands, whose replies are not learned, and ``settings`` are the agents'."""

    agents: tuple[str, ...] = ("lota",)
    settings: Mapping[str, Scalar] | None = None
    houses: int = 400
    games: int = 0
    human_goals: bool = False
    epsilon: float = 0.1
    seed: int = 1

    def check(self) -> None:
        """Raise ``ConfigurationError`` for lessons that cannot be played."""
        if self.houses > EVALUATION_SEEDS:
            raise ConfigurationError(
                f"Houses from {EVALUATION_SEEDS:,} on are for evaluation; learn from fewer than {self.houses:,}."
            )
        # Recorded runs may be of agents that the expert cannot teach.
        for agent in self.agents if self.houses or self.games else ():
            check_taught(agent)
            resolve_settings(agent, self.settings or {})


@dataclass(frozen=True, slots=True)
class _Play:
    """The options of every game; ``sources`` are those of its splits, which other machines must have too."""

    lessons: Lessons
    data: Path | None = None
    grants: frozenset[str] = frozenset()
    sources: Mapping[str, str] = field(default_factory=dict[str, str])


def demonstrated(
    lessons: Lessons,
    data: Path | None = None,
    played: Callable[[int, int], None] | None = None,
    processes: int = 1,
    cluster: Pool | None = None,
    left_out: Counter[str] | None = None,
) -> Iterator[Conversation]:
    """The conversations of all games that the expert wins as the agents.

    Args:
        played: Called with the numbers of finished and of all games.
        processes: The number of processes that play at once. It does not change the conversations.
        cluster: Plays on other machines instead.
        left_out: Counts the other games by reason.

    Raises:
        ConfigurationError: The lessons cannot be played."""
    lessons.check()
    tasks = AlfworldWorld(data=data).tasks("train") if lessons.games else ()
    spread = tasks[:: max(1, len(tasks) // max(1, lessons.games))][: lessons.games]
    items = [*(f"{GENERATED}:{seed}" for seed in range(lessons.houses)), *(task.reference for task in spread)]
    for episode in _won(_Play(lessons, data), items, processes, cluster, Counter() if left_out is None else left_out, played):
        yield from episode.conversations


def of_houses(conversations: Iterable[Conversation], houses: int) -> Iterator[Conversation]:
    """The ``conversations`` of the first ``houses`` made-up houses, and those of games of ``train``."""
    for conversation in conversations:
        split, _, seed = conversation.origin.partition(":")
        if split != GENERATED or int(seed) < houses:
            yield conversation


@dataclass(slots=True)
class Demonstrations:
    """The expert's games as the agents of ``lessons``, in an order drawn by their seed.

    ``games`` is the number of games of ``split``; all for None. ``split`` is ``train``, ``example`` or ``generated``, also with
    seeds (`housequest.worlds.tasks.read_split`). ``processes`` play at once, or those of a ``cluster``, which changes neither
    episodes nor their order. With ``shard`` it is every N-th of these games. ``left_out`` counts the games that are not won, by
    reason, while games are played."""

    lessons: Lessons
    split: str = "train"
    games: int | None = None
    data: Path | None = None
    grants: frozenset[str] = frozenset()
    processes: int = 1
    cluster: Pool | None = None
    shard: Shard | None = None
    left_out: Counter[str] = field(default_factory=Counter[str])

    def __iter__(self) -> Iterator[ExportedEpisode]:
        """Play the games. Raises ``ConfigurationError`` for games that cannot be played or are for evaluation."""
        self.lessons.check()
        items = self._items()
        Random(f"export {self.lessons.seed}").shuffle(items)
        chosen = items[: self.games] if self.shard is None else self.shard.part(items[: self.games])
        yield from _won(_Play(self.lessons, self.data, self.grants), chosen, self.processes, self.cluster, self.left_out)

    def _items(self) -> list[str]:
        _, seeds = read_split(self.split, (GENERATED,), range(HELD_OUT.stop))
        if seeds is not None:
            most = len(seeds) if seeds.stop < HELD_OUT.stop else DEFAULT_HOUSES
            seeds = seeds[: most if self.games is None else self.games]
            if seeds[-1] >= HELD_OUT.start:
                raise ConfigurationError(f"--split: houses from {HELD_OUT.start:,} on are for evaluation; give others.")
            return [f"{GENERATED}:{seed}" for seed in seeds]
        world = AlfworldWorld(data=self.data)
        if self.split not in LEARNT_FROM:
            evaluates = f"agents are evaluated on {self.split}, so nothing may be learned from it"
            published = self.split in world.info.published_splits
            why = evaluates if published else f"there is no {shown(self.split, 40)} to learn from"
            raise ConfigurationError(f"--split: {why}; give train, example, or generated, also as generated:FIRST..LAST.")
        return [task.reference for task in world.tasks(self.split)]


def _won(
    play: _Play,
    items: Sequence[str],
    processes: int,
    cluster: Pool | None,
    left_out: Counter[str],
    played: Callable[[int, int], None] | None = None,
) -> Iterator[ExportedEpisode]:
    """The won episodes of the tasks ``items``, in their order for any number of processes."""
    if cluster is not None:
        splits = sorted({item.partition(":")[0] for item in items})
        data = play.data or (None if set(splits) <= {GENERATED, EXAMPLE} else alfworld_data())
        play = replace(play, data=data, sources=_sources(AlfworldWorld(data=data), splits))
    for number, episodes in enumerate(in_processes(partial(_player, play), items, processes, cluster), 1):
        for episode in episodes:
            if isinstance(episode, str):
                left_out[episode] += 1
            else:
                yield episode
        if played is not None:
            played(number, len(items))


def _sources(world: AlfworldWorld, splits: Iterable[str]) -> dict[str, str]:
    """The version of housequest and the fingerprint of the games of each split on this machine."""
    return {split: f"{installed_version('housequest')} {world.fingerprint(split)}" for split in splits}


@contextmanager
def _player(play: _Play) -> Generator[Callable[[str], list[ExportedEpisode | str]]]:
    """Plays the task of a reference, as each agent and in each wording."""
    world, lessons = AlfworldWorld(data=play.data), play.lessons
    if _sources(world, play.sources) != play.sources:
        raise ConfigurationError(
            f"{platform.node() or 'A machine'} has another version of housequest or other games of "
            f"{', '.join(play.sources)}; give it the same."
        )
    with rare_collections(), asyncio.Runner() as runner:
        # `Runner.run` would set up the handling of Ctrl-C each time.
        run = runner.get_loop().run_until_complete

        def played(item: str) -> list[ExportedEpisode | str]:
            task = world.task(item)
            goal = read_goal(task.goal)
            if goal is None:
                return []
            told = _worded(task, human=lessons.human_goals)
            return [run(_taught(world, each, goal, agent, play)) for each in told for agent in lessons.agents]

        yield played


def _worded(task: Task, *, human: bool) -> Iterator[Task]:
    """The task, and if ``human`` the same with each annotator's goal."""
    yield task
    written = sentences_of(task.source.with_name(TRAJECTORY_FILE)) if human and task.source else ()
    for annotator, sentence in enumerate(written, 1):
        if sentence:
            yield replace(task, goal=sentence, wording=f"human:{annotator}")


async def _taught(world: AlfworldWorld, task: Task, goal: Goal, agent: str, play: _Play) -> ExportedEpisode | str:
    """The episode that the expert wins as ``agent``, or the reason to leave it out. Raises ``ConfigurationError``."""
    lessons = play.lessons
    drawn = f"{lessons.seed} {agent} {task.id} {task.wording}"
    config = EpisodeConfig(world, play.grants, max_turns=MOST_STEPS, seed=lessons.seed)
    env = Knowing(world, config.open(task), goal, Random(drawn), epsilon=lessons.epsilon)
    teacher = Teacher(agent, env)
    player = make_agent(agent, world=world, model=teacher, settings=lessons.settings, seed=lessons.seed, worked=worked_examples)
    ended = await run_episode(env, player, config, lambda _: None)
    env.close()
    if ended.boundary == "configuration":
        raise ConfigurationError(ended.message or ended.reason)
    if ended.outcome != "won":
        return "that the expert does not win" if ended.boundary is None else f"where {ended.message or ended.reason}"
    steps = tuple(PlayedStep(one.command, one.observation.text) for one in env.played)
    conversations = tuple(joined(task.reference, agent, teacher.calls))
    return ExportedEpisode(world.name, task.reference, agent, teacher.name, True, env.opening.text, steps, conversations)


# Example exchanges for an agent's roles.

HOUSES = range(EVALUATION_SEEDS - 1, EVALUATION_SEEDS - 9, -1)
"""Houses for example games, in this order: they are never evaluated, and training uses them last."""
MOST_EXCHANGES = 6  # Exchanges shown to a role.
MOST_CHARACTERS = 4_000  # Their characters in total, some thousand tokens; the first exchange is always shown.

_SETTINGS: Mapping[str, Scalar] = {"form": "free", "examples": "made-up", "choose": "bm25", "scores": "answer"}
"""Settings that the expert has in any case, so that no other model is asked, and no probabilities are read."""
_LOCK = Lock()


def _teaches(agent: str, world: World) -> bool:
    return world.household is HOUSEHOLD and not world.info.skills and not world.info.pictured and can_teach(agent)


def teach(agent: str, world: World, env: Env) -> tuple[Env, Model] | None:
    """``env`` with the expert, and a chat model that gives ``agent`` the expert's replies; None if it cannot."""
    goal = read_goal(env.task.goal) if _teaches(agent, world) else None
    if goal is None:
        return None
    knows = Knowing(world, env, goal, Random(0), epsilon=0.0)
    return knows, Teacher(agent, knows, Capabilities(deterministic=True, scoring=True, singly=True))


def worked_examples(agent: str, world: World, settings: Mapping[str, Scalar], role: str) -> Sequence[Exchange]:
    """The first exchanges of ``role`` in a game that the expert wins as ``agent``; none if the expert cannot play as ``agent``
    or in this kind of world. Equal arguments give equal examples."""
    if not _teaches(agent, world):
        return ()
    taken = {name: _SETTINGS.get(name, value) for name, value in settings.items()}
    # Even if many episodes ask at once, play only one game.
    with _LOCK:
        return _exchanges_won(agent, tuple(sorted(taken.items()))).get(role, ())


@lru_cache(maxsize=16)
def _exchanges_won(agent: str, settings: tuple[tuple[str, Scalar], ...]) -> Mapping[str, Sequence[Exchange]]:
    """The exchanges of each role in the first of `HOUSES` that is won without an unreadable reply."""
    world = AlfworldWorld()
    config = EpisodeConfig(world, max_turns=MOST_STEPS)
    for seed in HOUSES:
        task = world.task(f"{GENERATED}:{seed}")
        if (goal := read_goal(task.goal)) is None:
            continue
        heard: list[Event | CallTiming] = []
        env = Knowing(world, config.open(task), goal, Random(seed), epsilon=0.0)
        try:
            teacher = Teacher(agent, env, Capabilities(deterministic=True))
            player = make_agent(agent, world=world, model=teacher, settings=dict(settings))
            ended = asyncio.run(run_episode(env, player, config, heard.append))
        finally:
            env.close()
        recorded = [event for event in heard if isinstance(event, Event)]
        if ended.outcome == "won" and not any(isinstance(event.body, ParseFailed) for event in recorded):
            return _exchanges(recorded)
    return {}


def _exchanges(recorded: Sequence[Event]) -> Mapping[str, Sequence[Exchange]]:
    """The exchanges to show for each role, each with only the last message of its prompt."""
    prompts, found = whole_prompts(recorded), dict[str, list[Exchange]]()
    for event in recorded:
        if isinstance(call := event.body, ModelCall):
            shown = found.setdefault(call.role, [])
            exchange = (prompts[event.id][-1].text, call.reply)
            long = sum(len(asked) + len(replied) for asked, replied in (*shown, exchange)) > MOST_CHARACTERS
            if len(shown) < MOST_EXCHANGES and not (shown and long) and exchange not in shown:
                shown.append(exchange)
    return found
