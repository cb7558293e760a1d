"""Declares agents (name, settings, needs, how to make one), and finds them by name. Importing it loads nothing heavy.

A package adds an agent by an entry point of the group ``housequest.agents`` whose value is an `AgentSpec`::

    @declare_agent("walker", "walks from door to door", settings=WalkerSettings, needs=())
    def walker(parts: AgentParts[WalkerSettings]) -> Agent:
        from walker.agent import Walker

        return Walker(parts.settings.steps)

The agents that ship are declared the same way, each in the package that holds its code, its roles and its prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, cast

from housequest.agent.models.forms import FormChoice
from housequest.agent.models.registry import DEFAULT_MODEL, EXAMPLE, models_of, parse_models
from housequest.worlds.errors import ConfigurationError, Unsupported, nearest, shown
from housequest.worlds.options import Scalar, defaults, option, read_options
from housequest.worlds.registry import DEFAULT_WORLD, household, known_world, load_plugin, plugins, ships

if TYPE_CHECKING:
    from housequest.agent.base import Agent, AskPerson
    from housequest.agent.models.base import Model
    from housequest.agent.roles.base import Exchange, Sampling
    from housequest.worlds.base import World
    from housequest.worlds.household.base import Household

    Worked = Callable[[str, World, Mapping[str, Scalar], str], Sequence[Exchange]]
    """Examples of the messages and replies of a role, for an agent with these settings; may be empty."""

SEARCHER = "housequest.agent.skills"  # The package of the prompt that asks a model where to look.

DEFAULT_AGENT = "reasoner-actor"

CORE = ("react", DEFAULT_AGENT, "expert", "human")
"""The agents that are always there come first in lists; then the others that ship, by name; then those of other packages."""

S_co = TypeVar("S_co", covariant=True)

WEIGHTS = "weights"  # The end of the name under which a record has the digest of a network's file.

Strategy = Literal["random", "task-type", "stratified", "bm25", "embeddings"]
"""The strategy for choosing examples (`housequest.knowledge.choosing`)."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """The settings of an agent without any."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of every agent with a language model."""

    max_tokens: int = option(512, "the most tokens in a reply")
    temperature: float = option(0.0, "the sampling temperature")
    form: FormChoice = option(
        "auto",
        "hold replies to a form; auto: if the model allows it; free: never; held: always; completion: it continues plain text",
    )
    prompts: str = option("", "a folder of your own prompts; `housequest prompts write` copies those that ship")


@dataclass(frozen=True, slots=True)
class ExampleSettings(ModelSettings):
    """The settings of an agent that shows its model examples of other tasks."""

    examples: str = option("made-up", "where examples come from: made-up, train, a file or a run's folder")
    pool: int = option(100, "examples to choose from")
    choose: Strategy = option("bm25", "how examples are chosen for a task")
    embedder: str = option("", "the embedding model of choose=embeddings")


@dataclass(frozen=True, slots=True)
class CameraSettings(ExampleSettings):
    """The settings of an agent that plays by a camera where its world shows pictures: each heuristic can be left out."""

    seeing: str = option("truth", "with a camera: how frames are perceived (truth, noisy:miss=0.2,...)")
    votes: bool = option(True, "with a camera: look for things on the map by votes of viewpoints first")
    traversable: bool = option(True, "with a camera: walk to where a thing can be acted on, not to the thing")
    corners: bool = option(True, "with a camera: explore the four corners of the room first")
    replay: bool = option(True, "with a camera: go back to where something was sliced")
    look_around: bool = option(True, "with a camera: look around before exploring")
    adjust: bool = option(True, "with a camera: after a failure, try again from another place")
    peek: bool = option(True, "with a camera: open closed receptacles to look for things")

    careful: ClassVar[bool] = False
    """True for a body that also looks at open places from near, and knows by name what it opened, as no detector does."""


@dataclass(frozen=True, slots=True)
class AgentParts(Generic[S_co]):
    """The parts of an agent. ``asks`` asks a person for a command; ``worked`` has examples for a model without chats.

    ``world`` is there for its info, its household, its expert, and examples of other tasks. An agent does not open the task
    that it plays, and calls nothing that is marked as hidden.
    """

    name: str
    world: World
    settings: S_co
    seed: int = 0
    given_model: Model | None = None
    asks: AskPerson | None = None
    worked: Worked | None = None

    @property
    def model(self) -> Model:
        """The language model. Raises ``ConfigurationError`` if none was given."""
        if self.given_model is None:
            raise ConfigurationError(needs_a_model(self.name))
        return self.given_model

    @property
    def sampling(self) -> Sampling:
        """The sampling of model calls. A ``max_tokens`` other than the agent's default limits every role."""
        from housequest.agent.roles.base import Sampling

        def examples(role: str) -> Sequence[Exchange]:
            return self.worked(self.name, self.world, asdict(settings), role) if self.worked is not None else ()

        settings: Any = self.settings
        usual: Any = next(each.default for each in fields(settings) if each.name == "max_tokens")
        given = None if settings.max_tokens == usual else settings.max_tokens
        return Sampling(given, settings.temperature, self.seed, usual_tokens=usual, form=settings.form, examples=examples)

    @property
    def household(self) -> Household:
        """Reads the world's texts. Only for agents that need a ``household``: they play in no other world."""
        found = self.world.household
        assert found is not None
        return found


def _unmade(parts: AgentParts[Any]) -> Agent:
    raise ConfigurationError(f"The agent {parts.name!r} is declared without a function that makes it.")


Need = Literal["model", "household", "admissible"]
Take = Literal["rules", "places", "images", "skills", "camera"]


@dataclass(frozen=True, slots=True)
class AgentRoles:
    """The roles in which an agent asks its model.

    Args:
        names: The roles; each can have a model of its own.
        prompts: The package whose ``*.txt`` files are the agent's prompt templates.
        demonstrations: The module with an expert's replies in each role (`housequest.agent.roles.demonstrations`), if a model
            can be taught to play as this agent.
        rerenders: True if it changes earlier parts of its prompts, which loses caches of prefixes; its docstring says the cost.
    """

    names: tuple[str, ...] = ()
    prompts: str | None = None
    demonstrations: str | None = None
    rerenders: bool = False


@dataclass(frozen=True, slots=True)
class AgentSources:
    """The files that an agent plays by, besides prompts and examples.

    Args:
        prior: The expert's search prior on which its network was trained, if it was.
        learned_from: The splits from which the network that ships learned (`housequest.worlds.tasks.read_split`).
        digests: Gives the SHA-256 of each file by name, from the settings of the agent or of one that plays through it.
    """

    prior: str | None = None
    learned_from: tuple[str, ...] = ()
    digests: Callable[[Mapping[str, Scalar], Household | None], Mapping[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """Declares an agent to those who list, check and make it.

    Use it as a decorator of the function that makes the agent from its parts. Import the agent's code inside that function, so
    that listing agents stays cheap.

    Args:
        name: The name on the command line.
        about: One line for people.
        make: Makes the agent; the decorated function.
        settings: A frozen dataclass of `housequest.worlds.options`; None if the world's expert declares them.
        roles: The roles in which it asks its model.
        needs: ``model``: a language model. ``household``: it only plays households, and worlds that ``takes`` names.
            ``admissible``: the admissible commands must be granted.
        takes: ``rules``: rules can change what it does. ``places``: of rules, in a household, those that say where things are.
            ``images``: its model gets the picture of a turn. ``skills``: it also plays worlds whose commands are whole skills
            (`World.skills`). ``camera``: it also plays worlds that show pictures.
        unless: The setting that lifts a need or a take: ``{"model": "planner=oracle"}``, or ``{"images": "exemplars"}`` for any
            value.
        wraps: The agents that it can play through; its setting ``acting`` chooses one.
        sources: The files that it plays by.
    """

    name: str
    about: str
    make: Callable[[AgentParts[Any]], Agent] = _unmade
    settings: type[Any] | None = NoSettings
    roles: AgentRoles = AgentRoles()
    needs: tuple[Need, ...] = ("model",)
    takes: tuple[Take, ...] = ("rules",)
    unless: Mapping[str, str] = field(default_factory=dict[str, str])
    wraps: tuple[str, ...] = ()
    sources: AgentSources = AgentSources()

    def __call__(self, make: Callable[[AgentParts[Any]], Agent]) -> AgentSpec:
        return replace(self, make=make)

    @property
    def searches(self) -> bool:
        """True if its skills may ask the model where to look (`housequest.agent.skills.controller`), by a setting."""
        return self.settings is not None and any(each.name == "search" for each in fields(self.settings))

    def roles_with(self, settings: Mapping[str, object]) -> tuple[str, ...]:
        """Return its roles, and those of the agent that acts for it.

        Args:
            settings: The agent's settings; ``acting`` names the agent that acts.

        Returns:
            The names of the roles.
        """
        usual = defaults(self.settings).get("acting") if self.settings else None
        acting = settings.get("acting", usual)
        return (*self.roles.names, *(role for name in self.wraps if name == acting for role in agent_spec(name).roles.names))

    def needs_model_with(self, settings: Mapping[str, object]) -> bool:
        """Tell if it needs a language model.

        Args:
            settings: The agent's settings, which may lift the need.

        Returns:
            True if it cannot be made without a model.
        """
        return "model" in self.needs and not self.excepted("model", settings)

    def excepted(self, what: Need | Take, settings: Mapping[str, object]) -> bool:
        """Tell if a need or a take is lifted.

        Args:
            what: The need or the take.
            settings: The agent's settings.

        Returns:
            True if ``settings`` lift it.
        """
        name, _, value = self.unless.get(what, "").partition("=")
        given = settings.get(name)
        return given == value if value else bool(given)

    def read_settings(self, given: Mapping[str, object]) -> Any:
        """Read all settings, and name the user's own prompts by their digest.

        Args:
            given: Those that are not the default, as texts or values.

        Returns:
            An instance of ``settings``, or a dict if the world's expert declares them.

        Raises:
            ConfigurationError: A setting is unknown or out of bounds, or own prompts cannot be read.
        """
        if self.settings is None:
            return dict(given)
        read = read_options(self.settings, given, owner=f"The agent {self.name!r}", word="setting")
        if not isinstance(read, ModelSettings) or not read.prompts:
            return read
        from housequest.agent.roles.own import read_own

        return replace(read, prompts=read_own(self.name, read.prompts, self.templates))

    def made(self, parts: AgentParts[Any]) -> Agent:
        """Make the agent, with the user's own prompts if its settings name some.

        Args:
            parts: The world, the model and the settings that it plays with.

        Returns:
            The agent, which plays any number of episodes.
        """
        from housequest.agent.roles.own import carrying

        return carrying(str(getattr(parts.settings, "prompts", "")), lambda: check_is_agent(self.make(parts)))

    @property
    def templates(self) -> tuple[str, ...]:
        """The packages whose prompt templates can reach a model when it plays."""
        players = (self, *(agent_spec(name) for name in self.wraps if name in agent_names()))
        found = ["housequest.agent.roles", *(spec.roles.prompts for spec in players if spec.roles.prompts)]
        return (*found, *((SEARCHER,) if self.searches else ()))


def check_is_agent(found: object) -> Agent:
    """Return ``found``. Raises ``ConfigurationError`` if it is no agent."""
    lacks = [part for part in ("name", "begin", "decide") if not hasattr(found, part)]
    if lacks or isinstance(found, type):
        why = "is a class; give an object of it" if not lacks else f"is no agent: it has no {', no '.join(lacks)}"
        raise ConfigurationError(
            f"{shown(found)} {why}. An agent has a name, `begin` and `decide`; declare_agent decorates a function that makes "
            "one, as docs/guides/library.md shows."
        )
    return cast("Agent", found)


declare_agent = AgentSpec  # Decorates the function that makes an agent from its parts; the result is an `AgentSpec`.


def needs_a_model(agent: str) -> str:
    """The error for an agent without its model."""
    return f"The agent {agent!r} needs a language model; name one with --model, for example {EXAMPLE}."


def needs_admissible(agent: str) -> str:
    """The error for an agent that is not granted the admissible commands."""
    return f"The agent {agent!r} chooses among the admissible commands; let it see them with --grant admissible."


def agent_names() -> tuple[str, ...]:
    """List the agents.

    Returns:
        The names of all agents, including those of plugins and those that this process registered.
    """
    return tuple(dict.fromkeys((*CORE, *plugins("housequest.agents"))))


def agent_spec(name: str | AgentSpec) -> AgentSpec:
    """The spec of the agent ``name``, which may be the spec itself. Raises ``ConfigurationError``."""
    if isinstance(name, AgentSpec):
        return name
    spec = load_plugin("housequest.agents", name, "agent")
    if not isinstance(spec, AgentSpec) or spec.name != name:
        raise ConfigurationError(
            f"The entry point {name!r} of housequest.agents is not an AgentSpec of that name; correct its package."
        )
    return spec


def default_agent(model: str | None, world: str) -> str:
    """The agent that plays ``world`` if none is given: the expert if no model can play it."""
    return DEFAULT_AGENT if model or _builtin_speaks(world) else "expert"


def _builtin_speaks(world: str) -> bool:
    """True if the world is a household with the commands that the built-in model was taught."""
    reader = household(world)
    taught = household(DEFAULT_WORLD)
    return reader is not None and taught is not None and reader.commands == taught.commands


def shipped_model(agent: str) -> str | None:
    """The model that ships if it can play ``agent`` in a household, else None."""
    return DEFAULT_MODEL if agent == DEFAULT_AGENT else None


def model_for(agent: str, model: str | None, world: str, settings: Mapping[str, object] | None = None) -> str | None:
    """Choose the model with which ``agent`` plays ``world``: ``model``, else the built-in one; None if it needs none.

    Raises ``ConfigurationError`` if none is given or the built-in one cannot play.
    """
    spec = agent_spec(agent)
    if not spec.needs_model_with(settings or {}):
        return None
    serves = agent == DEFAULT_AGENT and _builtin_speaks(world)
    if model is None and not serves:
        raise ConfigurationError(needs_a_model(agent))
    model = DEFAULT_MODEL if model is None else model
    check_roles(agent, models_of(model), settings or {})
    if parse_models(model)[""].provider.brief and (not serves or (settings or {}).get("prompts")):
        raise ConfigurationError(
            f"The model {shown(model, 60)} only plays households like ALFWorld's, as {DEFAULT_AGENT} with its own prompts. "
            f"Use that agent there, without prompts, or name another model, for example {EXAMPLE}."
        )
    return model


def check_roles(agent: str, named: Collection[str], settings: Mapping[str, object]) -> None:
    """Raise ``ConfigurationError`` if ``agent`` does not have one of the roles ``named``; "" stands for any."""
    known = ("", *agent_spec(agent).roles_with(settings)) if any(named) else ("",)
    if unknown := next((role for role in named if role not in known), None):
        has = f"its roles are {', '.join(known[1:])}" if known[1:] else "none of its roles can have a model of its own"
        raise ConfigurationError(f"The agent {agent!r} has no role {shown(unknown, 40)}: {has}.{nearest(unknown, known)}")


def resolve_settings(name: str, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """All settings of agent ``name``: its defaults, replaced by those ``given``. Raises ``ConfigurationError``."""
    spec = agent_spec(name)
    read = spec.read_settings(given)
    if spec.settings is None:
        return dict(given)
    # Without own prompts the setting is left out, so these runs stay as they were before it existed.
    return {key: value for key, value in asdict(read).items() if (key, value) != ("prompts", "")}


def make_agent(
    name: str | AgentSpec,
    *,
    world: World | str,
    model: Model | None = None,
    settings: Mapping[str, Scalar] | None = None,
    seed: int = 0,
    question: AskPerson | None = None,
    worked: Worked | None = None,
) -> Agent:
    """Make an agent by name.

    Args:
        name: An installed agent, of those that `agent_names` lists, or what `declare_agent` makes.
        world: The world that it plays, or its name.
        model: Its language model, if it needs one.
        settings: Its settings by name, such as ``{"examples": "train"}``; the others have their defaults.
        seed: Fixes what it draws, and its model's sampling if the temperature is above 0.
        question: Asks a person for a command.
        worked: Gives example replies for a model that continues plain text.

    Returns:
        The agent, which plays any number of episodes.

    Raises:
        ConfigurationError: The agent or a setting is unknown, or its model is missing.
        Unsupported: It does not play such a world.
    """
    from housequest.agent.models.base import roles_of

    if isinstance(model, str):
        raise ConfigurationError(
            f"model: {shown(model)} is a name; give what make_model({shown(model)}) makes, and close it after use."
        )
    spec, world = agent_spec(name), known_world(world)
    name = spec.name
    read = spec.read_settings(settings or {})
    if spec.needs_model_with(settings or {}) and model is None:
        raise ConfigurationError(needs_a_model(name))
    check_roles(name, roles_of(model) if model is not None else (), settings or {})
    if fault := unfit(spec, world):
        raise Unsupported(fault)
    return spec.made(AgentParts(name, world, read, seed, model, question, worked))


def unfit(spec: AgentSpec, world: World) -> str:
    """Say why an agent does not play such a world.

    Args:
        spec: The agent.
        world: The world.

    Returns:
        A sentence that says what to choose instead; empty if the agent plays the world.
    """
    able = "skills" in spec.takes if world.info.skills else "camera" in spec.takes and world.info.pictured
    if "household" not in spec.needs or able:
        return ""
    if world.info.skills:
        others = ", ".join(other for other in agent_names() if "skills" in agent_spec(other).takes)
        return (
            f"The agent {spec.name!r} gives commands, and the commands of {shown(world.name)} are whole skills here; take "
            f"{f'{others} or ' if others else ''}react, or leave that option of the world out."
        )
    if world.household is None:
        wrong = f"the world {shown(world.name)} is not one"
        return f"The agent {spec.name!r} plays households, and {wrong}; take a household, or react."
    return ""


def acting_agent(agent: str, settings: Mapping[str, object]) -> str:
    """The agent that gives the commands: ``agent``, or the one that it wraps by its ``settings``."""
    return str(settings.get("acting", agent))


def learned_prior(agent: str, settings: Mapping[str, object]) -> str | None:
    """The search prior on which the acting agent's network was trained; None without a network or without its package."""
    acting = acting_agent(agent, settings)
    return agent_spec(acting).sources.prior if acting in agent_names() else None


def learned_from(agent: str, settings: Mapping[str, object], model: str | None) -> dict[str, tuple[str, ...]]:
    """The splits from which the acting agent's network and each role's model learned, by their names, as far as known."""
    acting, found = acting_agent(agent, settings), dict[str, tuple[str, ...]]()
    if acting in agent_names() and not settings.get(WEIGHTS):
        found[acting] = agent_spec(acting).sources.learned_from
    for name, parsed in parse_models(model).items() if model else ():
        found[name or parsed.kind] = parsed.provider.learned_from()
    return {name: parts for name, parts in found.items() if parts}


def data_digests(agent: str, settings: Mapping[str, Scalar], world: World) -> dict[str, str]:
    """The SHA-256 of all that ``agent`` and its acting agent read besides prompts. Raises ``ConfigurationError`` and others."""
    from housequest.agent.agents.examples import store_digests

    found = store_digests(world, settings)
    for name in dict.fromkeys((agent, acting_agent(agent, settings))):
        if (digests := agent_spec(name).sources.digests) is not None:
            found |= digests(settings, world.household)
    return found


def used_prompts(agent: str) -> frozenset[str]:
    """The templates that can reach a model when ``agent`` plays, by their names in `prompt_hashes`."""
    from housequest.agent.roles.base import template_hashes

    names = [name for package in agent_spec(agent).templates for name in template_hashes(package)]
    return frozenset((*names, *(f"{agent}/{name}" for name in names)))


def prompt_hashes(agent: str | None = None) -> dict[str, str]:
    """The SHA-256 of each prompt template by name, for a record: all that ship, and those of a plugin ``agent``."""
    from housequest.agent.roles.base import template_hashes

    agents = [name for name in agent_names() if ships("housequest.agents", name)]
    others = [point.module for name, point in plugins("housequest.prompts").items() if ships("housequest.prompts", name)]
    packages = {"housequest.agent.roles", SEARCHER, *others, *filter(None, (agent_spec(name).roles.prompts for name in agents))}
    hashes = {name: digest for package in packages for name, digest in template_hashes(package).items()}
    if agent is not None and agent not in agents and (package := agent_spec(agent).roles.prompts):
        hashes |= {f"{agent}/{name}": digest for name, digest in template_hashes(package).items()}
    return dict(sorted(hashes.items()))
