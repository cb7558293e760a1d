"""The parts of ``textworld.core`` that alfworld's users need: environments that are loaded, reset and stepped, and their
wrappers."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any

from housequest.worlds.errors import ConfigurationError, Unsupported, WorldError, nearest, shown

WIDTH = 80  # Columns of a rendering for people.
INFOS = (
    *("feedback", "description", "inventory", "location", "facts", "win_facts", "fail_facts", "last_action", "last_command"),
    *("game", "won", "lost", "score", "moves", "max_score", "objective", "entities", "typed_entities", "verbs"),
    *("command_templates", "admissible_commands", "possible_admissible_commands", "possible_commands", "intermediate_reward"),
    "policy_commands",
)
"""The information that can be requested of a game; ALFWorld's games have None for some of it."""


class CommandError(WorldError, AssertionError):
    """The value is no command, or not one for each game. textworld raises ``AssertionError`` here."""


class WrongValue(ConfigurationError, ValueError):
    """The value is an unknown name, or a number out of range. alfworld's users know ``ValueError``."""


class UnknownInfo(WorldError, ValueError):
    """Information was requested that textworld does not know."""


class EnvInfoMissingError(NameError):
    """A wrapper needs information that was not requested. Nothing here raises it; other people's wrappers may."""

    def __init__(self, requester: str, info: str) -> None:
        super().__init__(f"{requester} needs the information {info}; request it with EnvInfos({info}=True).")


Answer = tuple[str, float, bool, dict[str, Any]]
"""The text, the score, whether the game is over, and the requested information."""


class EnvInfos:
    """The information requested beside the text: ``EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])``."""

    __slots__ = (*INFOS, "extras")

    def __init__(self, *, extras: list[str] | None = None, **requested: bool) -> None:
        for name in requested:
            if name not in INFOS:
                raise UnknownInfo(f"There is no information {shown(name)} to request.{nearest(name, INFOS)}")
        for name in INFOS:
            setattr(self, name, requested.get(name, False))
        self.extras: list[str] = [] if extras is None else extras

    @property
    def basics(self) -> list[str]:
        """The names requested, without extras."""
        return [name for name in INFOS if getattr(self, name)]

    def copy(self) -> EnvInfos:
        return EnvInfos(extras=list(self.extras), **dict.fromkeys(self.basics, True))

    def __len__(self) -> int:
        return len(self.basics) + len(self.extras)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnvInfos) and (self.basics, self.extras) == (other.basics, other.extras)

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __reduce__(self) -> Any:
        return partial(EnvInfos, extras=self.extras, **dict.fromkeys(self.basics, True)), ()


@dataclass(slots=True)
class EntityInfo:
    """A thing of a game: its id and type in the problem, and its ``name`` in texts and commands, which a demangler sets."""

    id: str
    type: str
    name: str
    definite: str = "the"
    indefinite: str = "a"


@dataclass(frozen=True, slots=True)
class UntoldValue:
    """Requested information that is not told here: it can be passed on, and raises ``Unsupported`` when it is looked at."""

    name: str

    def _refuse(self, *_: object) -> Any:
        raise Unsupported(f"{self.name} is hidden state or grammar, which is not told here.")

    __iter__ = __len__ = __getitem__ = __contains__ = _refuse


class GameState(dict[str, Any]):
    """The state after a step; ``state.won`` is ``state["won"]``, and None if there is no such entry."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def copy(self) -> GameState:
        return GameState(deepcopy(dict(self)))


class Environment:
    """One game at a time: `load` it, `reset` it, `step` it."""

    def __init__(self, request_infos: EnvInfos | None = None) -> None:
        self.state = GameState()
        self.request_infos = request_infos or EnvInfos()
        self.display_command_during_render = False

    def load(self, path: str) -> None:
        """Load the game of the next resets."""
        raise NotImplementedError

    def reset(self) -> Any:
        """Start the game, or start it again."""
        raise NotImplementedError

    def step(self, command: str) -> Any:
        """Execute a command: the state, the score and whether the game is over."""
        raise NotImplementedError

    def seed(self, seed: int | None = None) -> Any:
        """Do nothing: this environment draws nothing."""
        del seed
        return []

    def render(self, mode: str = "human") -> Any:
        """Print the last answer, or return it with ``mode`` "text", or "ansi" for a file-like object."""
        command = self.state.last_command if self.display_command_during_render else None
        return rendered([answer(self.state.feedback, command)], mode)

    def close(self) -> None:
        """End the game."""

    def copy(self) -> Any:
        raise NotImplementedError


class TextworldWrapper:
    """Passes every call on to the environment within; subclasses override what differs. Calling one wraps an environment."""

    def __init__(self, env: Any = None) -> None:
        self._wrap(env)

    def __call__(self, env: Any) -> Any:
        self._wrap(env)
        return self

    def _wrap(self, env: Any) -> None:
        self._wrapped_env = env

    def __getattr__(self, name: str) -> Any:
        # Looking into ``__dict__`` would make one, and so slow down every step of thousands of games.
        if name == "_wrapped_env" or name.startswith("__") or self._wrapped_env is None:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self._wrapped_env, name)

    @property
    def display_command_during_render(self) -> bool:
        return self._wrapped_env.display_command_during_render

    @display_command_during_render.setter
    def display_command_during_render(self, shown: bool) -> None:
        self._wrapped_env.display_command_during_render = shown

    @property
    def unwrapped(self) -> Any:
        """The environment within all wrappers."""
        return getattr(self._wrapped_env, "unwrapped", self._wrapped_env)

    def load(self, path: str) -> None:
        self._wrapped_env.load(path)

    def reset(self) -> Any:
        return self._wrapped_env.reset()

    def step(self, command: str) -> Any:
        return self._wrapped_env.step(command)

    def seed(self, seed: int | None = None) -> Any:
        return self._wrapped_env.seed(seed)

    def render(self, mode: str = "human") -> Any:
        return self._wrapped_env.render(mode)

    def close(self) -> None:
        if self._wrapped_env is not None:
            self._wrapped_env.close()

    def copy(self) -> Any:
        raise NotImplementedError


class Filter(TextworldWrapper):
    """Returns text and the requested ``infos`` instead of a whole state: for callers, not for wrappers."""

    def reset(self) -> tuple[str, dict[str, Any]]:
        state = self._wrapped_env.reset()
        self._asked = (*self.request_infos.basics, *(f"extra.{name}" for name in self.request_infos.extras))
        self._answer = self._answering()
        return state["feedback"], self._infos(state)

    def step(self, command: str) -> Answer:
        return self._answer(command)

    def copy(self) -> Filter:
        other = Filter(self._wrapped_env.copy())
        other._asked = self._asked
        other._answer = other._answering()
        return other

    def _answering(self) -> Callable[[str], Answer]:
        env = _innermost(self._wrapped_env)
        return _answering(env, self._asked) or partial(self._filtered, env.step)

    def _filtered(self, step: Callable[[str], Any], command: str) -> Answer:
        state, score, done = step(command)
        return state["feedback"], score, done, self._infos(state)

    def _infos(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {name: state.get(name) for name in self._asked}


def _innermost(env: Any) -> Any:
    """The first environment in ``env`` that does more than pass steps on."""
    while steps_by(env, TextworldWrapper.step):
        env = env._wrapped_env
    return env


def steps_by(env: Any, step: Callable[..., Any]) -> bool:
    """True if ``env`` steps by this method, which neither a subclass nor anybody's assignment replaced."""
    return getattr(getattr(env, "step", None), "__func__", None) is step


def _answering(env: Any, asked: Sequence[str]) -> Callable[[str], Answer] | None:
    """The step of ``env`` without a state; None for other people's environments, and if ``step`` was replaced."""
    own = getattr(env.__class__, "answering", None)
    return None if own is None else own(env, asked)


class Limit(TextworldWrapper):
    """Ends a game after ``max_episode_steps`` steps."""

    def __init__(self, env: Any, max_episode_steps: int) -> None:
        super().__init__(env)
        self.max_episode_steps, self.nb_steps = max_episode_steps, 0

    def reset(self) -> Any:
        self.nb_steps = 0
        return self._wrapped_env.reset()

    def step(self, command: str) -> Any:
        state, score, done = self._wrapped_env.step(command)
        self.nb_steps += 1
        return state, score, done or self.nb_steps >= self.max_episode_steps

    def answering(self, asked: Sequence[str]) -> Callable[[str], Answer] | None:
        """The same step without a state, if the environment within has one."""
        within = _answering(_innermost(self._wrapped_env), asked)
        if within is None or not steps_by(self, Limit.step):
            return None
        self._within = within
        return self._answered

    def _answered(self, command: str) -> Answer:
        text, score, done, infos = self._within(command)
        self.nb_steps += 1
        return text, score, done or self.nb_steps >= self.max_episode_steps, infos

    def copy(self) -> Limit:
        other = Limit(self._wrapped_env.copy(), self.max_episode_steps)
        other.nb_steps = self.nb_steps
        return other


class TextworldAgent:
    """A player for textworld's own loops."""

    def reset(self, env: Any) -> None:
        """Before the first command."""

    def act(self, game_state: GameState, reward: float, done: bool) -> str:
        raise NotImplementedError

    def finish(self, game_state: GameState, reward: float, done: bool) -> None:
        """After the last command."""

    @property
    def wrappers(self) -> list[Any]:
        return []


class GymAgent:
    """A player for loops over ``textworld.gym``, where it is called ``TextworldAgent``."""

    @property
    def infos_to_request(self) -> EnvInfos:
        """The information that it needs beside the text."""
        return EnvInfos()

    def act(self, obs: str, score: int, done: bool, infos: Mapping[str, Any]) -> str:
        raise NotImplementedError


def answer(text: str, command: str | None, *, coloured: bool = False) -> str:
    """A game's answer with the command that it follows."""
    asked = "" if command is None else f"> {command}"
    asked = f"\x1b[33m{asked}\x1b[0m" if asked and coloured and sys.stdout.isatty() else asked
    return f"{asked}\n{text.rstrip()}\n" if asked else f"{text.rstrip()}\n"


def rendered(answers: list[str], mode: str) -> str | StringIO | None:
    """Answers of one or several games, printed for people or returned."""
    if mode == "human":
        answers = ["\n".join("\n".join(textwrap.wrap(line, WIDTH)) for line in one.split("\n")) for one in answers]
    whole = "\n-----\n".join(answers) + "\n"
    if mode == "human":
        sys.stdout.write(whole)
    file = StringIO() if mode == "ansi" else None
    if file is not None:
        file.write(whole)
    return whole if mode == "text" else file
