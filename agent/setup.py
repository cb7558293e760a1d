"""Resolve agent, model, rules and settings once, the same way for play, eval, explore and measure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from housequest.agent.agents import spec as registry
from housequest.agent.agents.spec import needs_admissible
from housequest.agent.base import Agent, AskPerson
from housequest.agent.config import RULES_BUDGET, Prices, Settings, world_of
from housequest.agent.episodes.config import PLAN, VIEW, EpisodeConfig
from housequest.agent.episodes.drawing import no_rooms
from housequest.agent.episodes.events import Curiosity, Manner
from housequest.agent.episodes.together import TogetherConfig
from housequest.agent.models.base import Image, Message, Model, Request, Watch, in_role, probe, roles_of
from housequest.agent.models.keys import KeyRing
from housequest.agent.models.registry import EXAMPLE, computes, destination, make_model, parse_models, portable_name
from housequest.agent.roles.base import Exchange, check_continues, check_held
from housequest.knowledge.choosing import RuleBudget
from housequest.knowledge.rules import accepted
from housequest.worlds.base import Task, World
from housequest.worlds.env import shared_house
from housequest.worlds.errors import ConfigurationError, Unsupported, nearest, shown
from housequest.worlds.options import Scalar
from housequest.worlds.paths import given_path, read_file
from housequest.worlds.registry import load_plugin, plugins, world_class
from housequest.worlds.shared import Shareable, Shared

if TYPE_CHECKING:
    from housequest.agent.agents.spec import Worked
    from housequest.agent.models.rate_limiter import Limiter

HUMAN = "human"
NAMES = ("Ann", "Bob", "Cleo", "Dan")
"""Names of players who have none of their own."""
_PLAYER = re.compile(r"(?P<agent>[\w.-]{1,80})(?:/(?P<manner>[\w-]{1,20}))?(?:=(?P<model>.{1,500}?))?(?:\*(?P<number>[1-9]))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup(EpisodeConfig):
    """The agent, model, world and rules of an episode, with every open choice in ``configured`` made."""

    agent: str
    configured: Settings
    players: tuple[tuple[str, Setup], ...] = ()

    @property
    def company(self) -> TogetherConfig:
        """The settings of several players in one house."""
        return TogetherConfig(self.configured.talk, self.configured.order, self.configured.obey)

    @property
    def recorded_model(self) -> str | None:
        return portable_name(self.model) if self.model else None

    def share(self, task: Task) -> Shared:
        """Open a task for all players. Raises what `shared_house` raises."""
        return shared_house(self.world, task, [name for name, _ in self.players])

    @property
    def each(self) -> tuple[Setup, ...]:
        """The setup of each player; this one, if it plays alone."""
        return tuple(each for _, each in self.players) or (self,)

    @property
    def prices(self) -> Prices | None:
        return self.configured.prices_of(self.model) if self.model else None

    def destinations(self) -> Iterator[str]:
        """Sentences about data sent to other machines, and about threads used here. Raises ``ConfigurationError``."""
        if self.players:
            yield from dict.fromkeys(sentence for _, each in self.players for sentence in each.destinations())
            return
        if self.model is not None and (how := computes(self.model)) is not None:
            yield how
        if self.model is not None and (where := destination(self.model)) is not None:
            yield f"Prompts{f' and the rules of {self.rules.file}' if self.rules else ''} go to {where}."
        if embedder := str(self.settings.get("embedder", "")):
            from housequest.agent.models.embeddings import texts_go_to

            where = texts_go_to(embedder)
            if where is not None and self.settings.get("choose") == "embeddings":
                yield f"Goals go to {where}, for choosing examples."
            if where is not None and "model" not in registry.agent_spec(registry.acting_agent(self.agent, self.settings)).needs:
                yield f"All texts of the games go to {where}, for the network to read."

    def make_model(
        self, *, watch: Watch | None = None, keys: KeyRing | None = None, limiter: Limiter | None = None
    ) -> Model | None:
        """Make the model, which the caller closes; None if none is needed. ``watch`` gets replies while they come."""
        if self.model is None:
            return None
        return make_model(self.model, keys=keys, timeout=self.configured.timeout, watch=watch, limiter=limiter)

    def make_agent(self, model: Model | None, question: AskPerson | None = None) -> Agent:
        """Make the agent, or the person for whom it stands in, asked by ``question``. Raises ``ConfigurationError``."""
        agent = registry.make_agent(
            self.agent, world=self.world, model=model, settings=self.settings, seed=self.seed, question=question, worked=worked
        )
        if self.stand_in is None or question is None:
            return agent
        from housequest.agent.agents.unaided.players import Guest

        return Guest(question, agent)

    async def check_model(self, model: Model) -> None:
        """Raise ``Unsupported`` if ``model`` cannot do as configured: accept images, keep forms or continue plain text."""
        every = (model, *(in_role(model, role) for role in roles_of(model)))
        if VIEW in self.grants:
            # Pictures go only to roles whose models accept them.
            able = [await each.capabilities() for each in every]
            seeing = next((can for can in able if can.images), able[0])
            Request((Message("user", "", Image(b"", "")),)).check(model.name, seeing)
        for each in every:
            if self.settings.get("form") == "held":
                check_held(each.name, await probe(each, "forms"))
            if self.settings.get("form") == "completion":
                check_continues(each.name, await probe(each, "completions"))

    def with_model(self, name: str) -> Setup:
        """The same setup with another model. Raises ``ConfigurationError`` if the agent cannot use it."""
        return _able_to_see(replace(self, model=registry.model_for(self.agent, name, self.world.name, self.settings)))


def set_up(
    settings: Settings,
    world: World | None = None,
    agent: str | None = None,
    *,
    rules: RuleBudget | None = None,
    curiosity: Curiosity | None = None,
) -> Setup:
    """Resolve every choice that ``settings`` leave open. Raises ``ConfigurationError`` and ``KnowledgeError``."""
    if settings.players:
        return _set_up_company(settings, world)
    if world is None:
        world_class(settings.world)  # An unknown world is refused before its agent's model is looked for.
    agent = agent or settings.agent or registry.DEFAULT_AGENT
    model = registry.model_for(agent, settings.model, world.name if world else settings.world, settings.settings_of(agent))
    world = world or world_of(settings)
    kept = registry.resolve_settings(agent, settings.settings_of(agent))
    if world.info.skills:
        # In this world skills find their objects, so the agent's search does not matter.
        kept = {name: value for name, value in kept.items() if name != "search"}
    if registry.agent_spec(agent).excepted("model", kept) and PLAN not in settings.grant:
        raise ConfigurationError(
            f"With this planner the agent {agent!r} carries out the annotated plan, which is hidden; allow that with "
            "--grant plan."
        )
    acting = registry.acting_agent(agent, kept)
    if "admissible" in registry.agent_spec(acting).needs and "admissible" not in settings.grant:
        raise ConfigurationError(needs_admissible(acting))
    if rules is None and settings.rules:
        # An unreadable book is always refused; a book of another world only if its rules would be shown.
        rules = read_rules(settings.rules, settings.rules_budget, world.name if _takes(agent, world) else None)
    rules = taken(rules, agent, world)
    # A person has the screen's own view.
    grants = frozenset(settings.grant) - ({VIEW} if agent == HUMAN else set())
    setup = Setup(
        world,
        grants=grants,
        max_turns=settings.max_steps or world.info.max_turns,
        seed=settings.seed or 0,
        model=model,
        rules=rules,
        habits=None if settings.habits is None else _label(given_path(settings.habits)),
        settings=kept,
        curiosity=curiosity,
        agent=agent,
        configured=settings,
    )
    return _able_to_see(setup)


def _set_up_company(settings: Settings, world: World | None) -> Setup:
    """The setup of several players. A run's common settings, such as seed and grants, are those of the first."""
    if settings.agent or settings.model or settings.set:
        given = next(key for key in ("agent", "model", "set") if getattr(settings, key))
        raise ConfigurationError(
            f"--{given} is of one player; leave it out, or name it in --players, such as react=openai:NAME."
        )
    named = list(_each_player(settings.players))
    if not 2 <= len(named) <= len(NAMES):
        raise ConfigurationError(f"--players names {len(named)}; give two to {len(NAMES)}, such as expert,builtin or react*2.")
    if settings.retry_lost:
        raise ConfigurationError("--retry-lost is for one player alone, who is told of its earlier attempts; leave it out.")
    world = world or world_of(settings)
    _check_company(settings, world)
    players = list[tuple[str, Setup]]()
    for name, (agent, manner, model) in zip(NAMES, named, strict=False):
        if agent == HUMAN:
            raise ConfigurationError("--players: the agent 'human' needs a screen; name agents that play by themselves.")
        own = settings.model_copy(update={"players": (), "agent": agent, "model": model})
        players.append((name, replace(set_up(own, world), manner=manner)))
    first = players[0][1]
    models = {each.model for _, each in players if each.model is not None}
    # A figure of a run is by its model only if there is one.
    model = next(iter(models)) if len(models) == 1 else None
    return replace(first, players=tuple(players), configured=settings, model=model)


def set_up_beside(settings: Settings, world: World, agent: str) -> Setup:
    """The setup of a person and an agent in one house. Model, rules and settings are the agent's. Raises what `set_up` does."""
    _check_company(settings, world)
    person = set_up(settings.model_copy(update={"model": None, "rules": None, "set": {}}), world, HUMAN)
    partner = set_up(settings, world, agent)
    return replace(person, players=tuple(zip(NAMES, (person, partner), strict=False)), configured=settings)


def set_up_guests(settings: Settings, world: World, stand_in: str) -> Setup:
    """The setup of two people in one house, for whom the agent ``stand_in`` plays while they are away. Raises as `set_up`."""
    if stand_in == HUMAN:
        raise ConfigurationError("An agent plays for people who leave; name one that plays by itself.")
    _check_company(settings, world)
    seat = replace(set_up(settings, world, stand_in), stand_in=stand_in)
    return replace(seat, players=((NAMES[0], seat), (NAMES[1], seat)), configured=settings)


def _check_company(settings: Settings, world: World) -> None:
    if not isinstance(world, Shareable):
        raise Unsupported(f"The world {world.name!r} is for one player alone.")
    if alone := {"diagnosis", VIEW, PLAN} & set(settings.grant):
        raise ConfigurationError(f"--grant {min(alone)} is for one player alone; leave it out.")


def read_player(player: str) -> tuple[str, Manner | None, str | None]:
    """An agent, its manner as a partner, and its model, as ``--players`` names them. Raises ``ConfigurationError``."""
    found = list(_each_player([player]))
    if len(found) != 1:
        raise ConfigurationError(f"{shown(player, 60)} is not one player; name each by itself.")
    return found[0]


def _each_player(given: Sequence[str]) -> Iterator[tuple[str, Manner | None, str | None]]:
    for player in (part.strip() for text in given for part in text.split(",")):
        found = _PLAYER.fullmatch(player)
        if found is None:
            raise ConfigurationError(
                f"--players: {shown(player, 60)} is no player; give AGENT, AGENT=MODEL or builtin, or *N after it."
            )
        agent, manner, model = found["agent"], found["manner"], found["model"]
        if manner is not None and manner not in (known := get_args(Manner)):
            raise ConfigurationError(
                f"--players: {shown(manner, 40)} is not a partner's manner; known: {', '.join(known)}.{nearest(manner, known)}"
            )
        if agent == registry.DEFAULT_MODEL and model is None:
            agent, model = registry.DEFAULT_AGENT, agent
        one: tuple[str, Manner | None, str | None] = agent, cast("Manner | None", manner), model
        yield from [one] * int(found["number"] or 1)


def _takes(agent: str, world: World) -> registry.Take | None:
    takes = registry.agent_spec(agent).takes
    if "places" in takes and world.household is not None:
        return "places"
    return "rules" if "rules" in takes or agent == HUMAN else None


def taken(rules: RuleBudget | None, agent: str, world: World) -> RuleBudget | None:
    """Those of ``rules`` that this agent takes: all, the location rules alone, or None."""
    takes = _takes(agent, world)
    if rules is None or takes == "rules":
        return rules
    told = tuple(rule for rule in rules.rules if rule.kind == "location") if takes == "places" else ()
    return replace(rules, rules=told) if told else None


def _label(file: Path) -> str:
    """A file's name, with a digest of what it says."""
    return f"{file.name}@{sha256(read_file(file)).hexdigest()[:12]}"


def _able_to_see(setup: Setup) -> Setup:
    """Return ``setup``. Raises ``Unsupported`` if the view is granted but agent, world or model cannot support images."""
    if VIEW not in setup.grants:
        return setup
    spec = registry.agent_spec(registry.acting_agent(setup.agent, setup.settings))
    otherwise = "or leave out --grant view."
    if "images" not in spec.takes:
        able = ", ".join(name for name in registry.agent_names() if "images" in registry.agent_spec(name).takes)
        raise Unsupported(f"The agent {spec.name!r} looks at no pictures; take one that does ({able}), {otherwise}")
    if spec.excepted("images", setup.settings):
        setting = spec.unless["images"]
        raise Unsupported(f"The agent {spec.name!r} reads text alone with {setting}; leave that setting out, {otherwise}")
    if setup.world.household is None and not setup.world.info.pictured:
        raise Unsupported(no_rooms(setup.world))
    if setup.model is not None and not any(each.provider.images for each in parse_models(setup.model).values()):
        named = shown(setup.model, 60)
        raise Unsupported(f"{named} takes no images; name a vision model, for example {EXAMPLE}, {otherwise}")
    return setup


def worked(agent: str, world: World, settings: Mapping[str, Scalar], role: str) -> Sequence[Exchange]:
    """Worked examples of ``role`` from the first plugin of ``housequest.examples`` that has some."""
    # Imported only if a model is shown examples.
    for name in plugins("housequest.examples"):
        source: Worked = load_plugin("housequest.examples", name, "source of examples")
        if found := source(agent, world, settings, role):
            return found
    return ()


def read_rules(name: str, budget: int = RULES_BUDGET, world: str | None = None) -> RuleBudget:
    """Read the accepted rules of a rulebook, from the library or a file. Raises ``KnowledgeError``, also for another world."""
    from housequest.knowledge.rulebook import library

    book = library().open(name)
    if world is not None:
        book.require_world(world)
    return RuleBudget.of_book(book, accepted(book.rules), budget)
