"""What an agent declares: its name, settings, needs, and how it is made. Importing a spec loads nothing heavy.

A package adds an agent by an entry point of the group ``housequest.agents`` whose value is an `AgentSpec`::

    @declare_agent("walker", "walks from door to door", settings=WalkerSettings, needs_model=False)
    def walker(parts: AgentParts[WalkerSettings]) -> Agent:
        from walker.agent import Walker

        return Walker(parts.settings.steps)

The agents that ship are declared the same way, each in the package that holds its code, its roles and its prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from housequest.agent.models.forms import FormChoice
from housequest.agent.models.registry import EXAMPLE
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.options import Scalar, option, read_options

if TYPE_CHECKING:
    from housequest.agent.base import Agent, AskPerson
    from housequest.agent.models.base import Model
    from housequest.agent.roles.base import Exchange, Sampling
    from housequest.worlds.base import World
    from housequest.worlds.household.base import Household

    Worked = Callable[[str, World, Mapping[str, Scalar], str], Sequence[Exchange]]
    """What a role of an agent with these settings was asked elsewhere, and replied; nothing where that is not known."""

S_co = TypeVar("S_co", covariant=True)

WEIGHTS = "weights"
"""What the digest of a network's file is called in a record, behind its agent's name."""

Strategy = Literal["random", "task-type", "stratified", "bm25", "embeddings"]
"""How examples are chosen for a task (`housequest.knowledge.choosing`)."""


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
        "hold replies to their form: if the model can be held, never, always; completion: it continues plain text",
    )


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

    seeing: str = option("truth", "with a camera: what perception makes of frames (truth, noisy:miss=0.2,...)")
    votes: bool = option(True, "with a camera: look for things on the map by votes of viewpoints first")
    traversable: bool = option(True, "with a camera: walk to where a thing can be acted on, not to the thing")
    corners: bool = option(True, "with a camera: explore the four corners of the room first")
    replay: bool = option(True, "with a camera: go back to where something was sliced")
    look_around: bool = option(True, "with a camera: look around before exploring")
    adjust: bool = option(True, "with a camera: try from another place what failed from one")
    peek: bool = option(True, "with a camera: open closed receptacles to look for things")


@dataclass(frozen=True, slots=True)
class AgentParts(Generic[S_co]):
    """What an agent is made from. ``asks`` asks a person for a command, in ``housequest play`` alone; ``worked`` has example
    replies for a model that continues plain text.
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
        """The sampling of model calls: a ``max_tokens`` other than the agent's default limits every role, whatever its own."""
        from housequest.agent.roles.base import Sampling

        def examples(role: str) -> Sequence[Exchange]:
            return self.worked(self.name, self.world, asdict(settings), role) if self.worked is not None else ()

        settings: Any = self.settings
        usual: Any = next(field.default for field in fields(settings) if field.name == "max_tokens")
        given = None if settings.max_tokens == usual else settings.max_tokens
        return Sampling(given, settings.temperature, self.seed, usual_tokens=usual, form=settings.form, examples=examples)

    @property
    def household(self) -> Household:
        """Reads the world's texts. Only for agents that declare ``needs_household``: they play in no other world."""
        found = self.world.household
        assert found is not None
        return found


def _unmade(parts: AgentParts[Any]) -> Agent:
    raise ConfigurationError(f"The agent {parts.name!r} is declared without a function that makes it.")


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What a package registers for an agent.

    Use it as a decorator of the function that makes the agent from its parts. Import the agent's code inside that function, so
    that listing agents stays cheap.

    ``about``: one line for people. ``settings``: a frozen dataclass of ``housequest.worlds.options``; None if the world's
    expert declares them. ``prompts``: the package whose ``*.txt`` files are the agent's prompt templates. ``demonstrations``:
    the module of what an expert replies in its roles (`housequest.agent.roles.demonstrations`), if a model can be taught to
    play as it. ``wraps``: the agents that it can play through. ``takes_rules``: rules can change what it does.
    ``takes_images``: its model gets the picture of a turn, unless one of the settings ``text_only`` is given. ``builtin``: the
    built-in model can play it in a household.

    ``needs_admissible``: admissible commands must be granted. ``needs_household``: it plays only in households. There are two
    exceptions: with ``takes_skills`` it also plays worlds whose commands are whole skills (`World.skills`), and with
    ``by_camera`` worlds that show pictures.

    ``rerenders``: it rewrites earlier parts of its prompts, so a cache of prompt prefixes helps less; its docstring says what
    that costs. ``alone``: a setting and the value with which it carries out the annotated plan and needs no model. ``prior``:
    how the network that it plays with learned to search, if that is one of the expert's ways. ``digests``: the SHA-256 of each
    file that it reads besides prompts and examples, by name, from its settings or those of an agent that plays through it.
    """

    name: str
    about: str
    make: Callable[[AgentParts[Any]], Agent] = _unmade
    settings: type[Any] | None = NoSettings
    prompts: str | None = None
    demonstrations: str | None = None
    wraps: tuple[str, ...] = ()
    needs_model: bool = True
    needs_household: bool = False
    takes_skills: bool = False
    by_camera: bool = False
    needs_admissible: bool = False
    takes_rules: bool = True
    takes_images: bool = False
    text_only: tuple[str, ...] = ()
    builtin: bool = False
    rerenders: bool = False
    alone: tuple[str, str] | None = None
    prior: str | None = None
    digests: Callable[[Mapping[str, Scalar], Household | None], Mapping[str, str]] | None = None

    def __call__(self, make: Callable[[AgentParts[Any]], Agent]) -> AgentSpec:
        return replace(self, make=make)

    @property
    def searches(self) -> bool:
        """Whether its skills may ask the model where to look (`housequest.agent.skills.controller`): the setting ``search``."""
        return self.settings is not None and any(field.name == "search" for field in fields(self.settings))

    def needs_model_with(self, settings: Mapping[str, object]) -> bool:
        """Whether it needs a model if it has these ``settings``."""
        return self.needs_model and not self.alone_with(settings)

    def alone_with(self, settings: Mapping[str, object]) -> bool:
        """Whether it carries out the annotated plan without a model if it has these ``settings``."""
        return self.alone is not None and settings.get(self.alone[0]) == self.alone[1]

    def read_settings(self, given: Mapping[str, object]) -> Any:
        """All settings, those ``given`` read as the types of their fields. Raises ``ConfigurationError``."""
        if self.settings is None:
            return dict(given)
        return read_options(self.settings, given, owner=f"The agent {self.name!r}", word="setting")


declare_agent = AgentSpec
"""Decorates the function that makes an agent from its parts; the result is an `AgentSpec`."""


def needs_a_model(agent: str) -> str:
    """The error of an agent without its model."""
    return f"The agent {agent!r} needs a language model; name one with --model, for example {EXAMPLE}."


def needs_a_plan(agent: str) -> str:
    """The error of an agent that carries out the annotated plan and is not told it."""
    return (
        f"With this planner the agent {agent!r} carries out the annotated plan, which is hidden; allow that with --grant plan."
    )


def needs_admissible(agent: str) -> str:
    """The error of an agent that is not told which commands are admissible."""
    return f"The agent {agent!r} chooses among the admissible commands; let it see them with --grant admissible."
