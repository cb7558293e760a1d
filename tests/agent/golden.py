"""Golden prompts: what an agent's roles are told and answer over a whole short episode, to be compared to the letter.

``python -m scripts.record_prompts`` writes them; a change of a prompt shows as a difference of these files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from housequest.agent.agents.spec import agent_names, make_agent
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Scores
from housequest.knowledge.choosing import RuleBudget
from housequest.worlds.registry import make_world, world_names
from tests.backends.choosing import Choosing
from tests.backends.erring import Erring
from tests.backends.few_shot import Continuing
from tests.backends.lota import Lister
from tests.backends.policy import Solver
from tests.backends.server import Policy

FOLDER = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Scene:
    """An episode to be written down: an agent in one of the houses that ship, and the policy behind it.

    ``variant`` tells scenes of one agent apart.
    """

    agent: str
    variant: str = ""
    house: str = "example:2"
    policy: Policy = field(default_factory=lambda: Solver(wrong_first_plan=True))
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    rules: tuple[str, ...] = ("A closed place is opened before anything is taken from it.",)
    can: Capabilities = field(default_factory=Capabilities)
    turns: int = 50
    grants: frozenset[str] = frozenset({"type"})
    world: str = "alfworld"

    @property
    def path(self) -> Path:
        """Where its prompts are kept."""
        return FOLDER / f"{self.name}.txt"

    @property
    def name(self) -> str:
        """The agent, with the variant if it is one."""
        return "-".join(filter(None, (self.agent, self.variant)))


def _by_camera() -> Iterator[Scene]:
    """Episodes in a world that shows pictures, where it is in this tree."""
    if "alfred" not in world_names():
        return
    from tests.agent.alfred.demonstrator import demonstrator

    policy = demonstrator(make_world("alfred").task("example:1"), wrong_first_plan=True)
    for agent in ("opex", "llm-planner", "socratic"):
        yield Scene(agent, "by-camera", "example:1", policy, {"shots": "0"}, turns=400, grants=frozenset(), world="alfred")


_EVERY = (
    Scene("react"),
    Scene("react", "exemplars", policy=Continuing(), settings={"exemplars": "own"}, can=Capabilities(completions=True)),
    Scene(
        "react", "window", policy=lambda messages: "<think>so</think><action>look</action>", settings={"window": "2"}, turns=4
    ),
    Scene(
        "react",
        "window-admissible",
        policy=lambda messages: "<think>so</think><action>look</action>",
        settings={"window": "2"},
        turns=4,
        grants=frozenset({"admissible"}),
        rules=(),
    ),
    Scene("reasoner-actor"),
    Scene("opex", settings={"shots": "1"}),
    Scene("llm-planner", settings={"shots": "2"}),
    Scene("llm-planner", "wrong-hand", house="example:1", policy=Erring("hand"), settings={"shots": "1", "search": "counts"}),
    Scene("socratic", settings={"shots": "1"}),
    Scene("socratic", "chain-of-thought", settings={"decompose": "chain-of-thought"}),
    Scene("pet", house="example:1", settings={"shots": "2"}),
    Scene("lota", house="example:1", policy=Lister(hasty=True), settings={"shots": "1", "replanning": "on"}),
    Scene("lota", "again", house="example:1", policy=Erring("again"), settings={"shots": "1", "replanning": "on"}),
    Scene(
        "lota",
        "list",
        house="example:1",
        policy=Erring("list"),
        settings={"shots": "1", "replanning": "on", "asking": "list"},
    ),
    *_by_camera(),
    Scene("coela", policy=Choosing()),
    Scene("saycan", house="example:1", policy=Lister(), can=Capabilities(scoring=True)),
)
SCENES = tuple(scene for scene in _EVERY if scene.agent in agent_names())


@dataclass
class Answering(Model):
    """A model in this process that answers by a policy."""

    policy: Policy
    can: Capabilities = field(default_factory=Capabilities)
    name: str = "answering"

    async def capabilities(self) -> Capabilities:
        return self.can

    async def complete(self, request: Request) -> Completion:
        return Completion(self.policy([{"role": message.role, "content": message.content} for message in request.messages]))

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        likeliest = (await self.complete(Request(messages))).text
        return Scores(tuple(0.0 if text == likeliest else -9.0 for text in continuations))


def conversation(scene: Scene) -> str:
    """All that was said in the episode: of each call what is new in its prompt, and the reply."""
    world = make_world(scene.world)
    player = make_agent(scene.agent, world=world, model=Answering(scene.policy, scene.can), settings=scene.settings)
    told: list[ModelCall | Ended] = []

    def listen(event: Event | CallTiming) -> None:
        if isinstance(event, Event) and isinstance(event.body, ModelCall | Ended):
            told.append(event.body)

    terms = EpisodeConfig(world, scene.grants, scene.turns, rules=RuleBudget.of_statements(scene.rules))
    asyncio.run(run_episode(world.open(world.task(scene.house)), player, terms, listen))
    return "\n".join(_written(body) for body in told)


def _written(body: ModelCall | Ended) -> str:
    if isinstance(body, Ended):
        return f"##### {body.outcome} after {body.steps} steps\n"
    parts = [f"##### {body.role}, after {body.kept} messages"]
    parts += [f"# {message.role}\n{message.content}" for message in body.added]
    return "\n".join([*parts, f"# reply\n{body.reply}", ""])
