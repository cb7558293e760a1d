"""ALFWorld's games as textworld's environment for PDDL, played by the native engine; and several at once with
``textworld.gym``'s interface, in one process: each reset starts the next game in every slot."""

from __future__ import annotations

import errno
import json
import operator
import os
import pickle
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache, partial, reduce
from itertools import count
from pathlib import Path
from typing import Any, SupportsIndex, cast
from weakref import WeakValueDictionary

from housequest.worlds.alfworld.engine import game as engine
from housequest.worlds.alfworld.engine.planner import plan
from housequest.worlds.dropin import core
from housequest.worlds.dropin.playing import OLDER, Place, RunningGame, UncollectedStep
from housequest.worlds.errors import ConfigurationError, GameError, OrderError, nearest, shown
from housequest.worlds.paths import read_file

_GAMES_KEPT = 8_192
_OLDER = b"put {o} in/on {r}"
_UNTOLD = ("facts", "win_facts", "fail_facts", "game", "command_templates")


class PddlEnv(core.Environment):
    """One game at a time. Without a demangler, things have the names of the file, as in textworld. A file that is no game
    of ALFWorld's present grammar raises ``GameError`` when it is loaded. Requested ``facts``, which are hidden state, raise
    ``Unsupported`` when they are looked at."""

    def __init__(self, request_infos: core.EnvInfos | None = None) -> None:
        super().__init__(request_infos)
        self.walkthrough: list[str] | None = None
        self._source: str | Mapping[str, Any] = {}
        self._game: engine.Game | None = None
        self._infos: dict[str, core.EntityInfo] | None = None
        self._demangled = False
        self._place: Place | None = None
        self._play: RunningGame | None = None
        self._moves, self._command = 0, ""

    @property
    def state(self) -> core.GameState:
        """The state after the last step."""
        if self._state is None:
            assert self._play is not None
            self._state = self._stated(self._play, self._command)
        return self._state

    @state.setter
    def state(self, state: core.GameState) -> None:
        self._state: core.GameState | None = state

    def load(self, path: str | Mapping[str, Any]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(path, Mapping):
            self._place = Place(_given(path).game("the given game"))
        else:
            self._place = place_of(os.fspath(path))
        self._game, self._source = self._place.game, path
        self._game_file = None if isinstance(path, Mapping) else path  # the name there
        self.walkthrough = None if self._game.walkthrough is None else list(self._game.walkthrough)
        self._demangled, self._play, self._infos = False, None, None

    @property
    def _entity_infos(self) -> dict[str, core.EntityInfo]:
        """The things that the problem's facts name, by id: other people's demanglers set their names when a game is loaded."""
        assert self._game is not None
        if self._infos is None:
            given = self._source
            file = _given(given) if isinstance(given, Mapping) else engine.read_game(Path(given))
            problem = engine.parse_problem(file.problem, self._game.origin)
            self._infos = {one: core.EntityInfo(one, problem.things[one], one) for one in problem.mentioned()}
            if self._demangled:
                for ids, names in zip(self._numbered(), (self._game.objects, self._game.receptacles), strict=True):
                    for one, name in zip(ids, names, strict=True):
                        self._infos[one].name = name
        return self._infos

    def _numbered(self) -> tuple[list[str], list[str]]:
        """The ids of objects and receptacles, as the game numbers them."""
        objects, receptacles = (
            [one.id for one in self._entity_infos.values() if one.type == kind] for kind in ("object", "receptacle")
        )
        return objects, receptacles

    def demangle(self, chance: random.Random | None) -> None:
        """Name things as alfworld does; with ``chance``, their numbers are shuffled."""
        assert self._game is not None
        self._demangled = True
        if chance is not None:
            self._game = renumbered(self._game, chance)

    def reset(self) -> core.GameState:
        if self._game is None:
            raise OrderError("No game was loaded; call load(path) first.")
        if self._infos is not None or not self._demangled:
            # Without a demangler the ids of things are their names.
            objects, receptacles = (tuple(self._entity_infos[one].name for one in ids) for ids in self._numbered())
            self._game = _named(self._game, objects, receptacles)
        if self._place is None or self._place.game is not self._game:
            self._place = Place(self._game)  # other names than those of the file
        self._play = RunningGame(self._place)
        self._untold = [(name, core.UntoldValue(name)) for name in _UNTOLD if self._asks(name)]
        self._more = bool(self._untold or self._asks("moves") or self._asks("policy_commands") or self._asks_walkthrough)
        # As textworld, plan if the file has no walkthrough.
        self._solution = self.walkthrough or (self._asks_walkthrough and _planned(self._play)) or None
        self._moves = 0
        self.state = self._told(self._play)
        return self.state

    def step(self, command: str) -> tuple[core.GameState, int, bool]:
        play = self._play
        if play is None:
            raise OrderError("This game is not being played; call reset() first.")
        play.act(command)
        self._moves += play.accepted
        self.state = state = self._stated(play, command)
        return state, int(play.won), play.won

    def answering(self, asked: Sequence[str]) -> Callable[[str], core.Answer] | None:
        """A step that makes no state until somebody looks at it; None if more is ``asked`` than is usual."""
        usual = {"won", "admissible_commands", "extra.gamefile"}.issuperset(asked)
        self._asked: dict[str, Any] = dict.fromkeys(asked)
        return self._answered if usual and core.steps_by(self, PddlEnv.step) else None

    def _answered(self, command: str) -> core.Answer:
        play = self._play
        assert play is not None  # or there would be no such step
        play.act(command)
        self._moves += play.accepted
        self._state, self._command = None, command
        won, infos = play.won, self._asked.copy()
        if "won" in infos:
            infos["won"] = won
        if "admissible_commands" in infos:
            infos["admissible_commands"] = list(play.listed)
        return play.text, int(won), won, infos

    def copy(self) -> PddlEnv:
        other = PddlEnv(self.request_infos)
        other.__dict__.update(self.__dict__)
        other.state = core.GameState(self.state)
        other._play = None if self._play is None else self._play.copy()
        return other

    def _stated(self, play: RunningGame, command: str) -> core.GameState:
        state = self._told(play)
        state["last_command"] = command.strip()
        state["score"], state["done"] = int(play.won), play.won
        return state

    def _told(self, play: RunningGame) -> core.GameState:
        state = core.GameState(
            feedback=play.text, raw=play.text, won=play.won, lost=False, last_action=None, admissible_commands=list(play.listed)
        )
        if OLDER.accepted:
            state["extra.read_as"] = play.read_as
        return self._told_more(state, play) if self._more else state

    def _asks(self, name: str) -> bool:
        """True if information of this name, one of `core.INFOS`, is requested."""
        return bool(getattr(self.request_infos, name))

    @property
    def _asks_walkthrough(self) -> bool:
        return "walkthrough" in self.request_infos.extras

    def _told_more(self, state: core.GameState, play: RunningGame) -> core.GameState:
        """The state with what is seldom asked for."""
        state.update(self._untold)
        if self._asks("moves"):
            state["moves"] = self._moves
        if self._asks("policy_commands"):
            state["policy_commands"] = _planned(play)
        if self._asks_walkthrough:
            state["extra.walkthrough"] = self._solution
        return state


def _planned(play: RunningGame) -> list[str]:
    found = plan(play.place.game, play.state)
    return list(found) if isinstance(found, tuple) else []


def start(path: str, request_infos: core.EnvInfos | None = None, wrappers: Sequence[Callable[[Any], Any]] = ()) -> Any:
    """The game in the file at ``path``, loaded. Raises ``FileNotFoundError`` and what `PddlEnv` raises."""
    if not Path(path).is_file():
        raise FileNotFoundError(errno.ENOENT, "There is no such game", os.fspath(path))
    env: Any = PddlEnv(request_infos)
    for wrapper in wrappers:
        env = wrapper(env)
    env.load(path)
    return env


def refuse_older(games: Iterable[str]) -> None:
    """Raise ``GameError`` if one of these files speaks alfworld 0.2.2's grammar; one that is not there counts for none."""
    if older := [file for file in games if Path(file).is_file() and _OLDER in read_file(Path(file))]:
        raise GameError(
            f"{shown(older[0], 400)}: this game uses the older grammar (`put X in/on Y`), as do {len(older) - 1} others. "
            "Update with `housequest data download`, or with alfworld 0.4 or later and `alfworld-download`."
        )


def game_logic(files: Iterable[str]) -> dict[str, str] | None:
    """ALFWorld's domain and grammar, without a goal, as the first of ``files`` has them; None without a published game."""
    for file in files:
        read = engine.read_game(Path(file))
        if read.domain is not None and read.grammar is not None:
            before, marker, rest = read.grammar.partition('"Your task is to: ')
            return {"pddl_domain": read.domain, "grammar": f'{before}{marker}{engine.PLACEHOLDER}"{rest.partition(chr(34))[2]}'}
    return None


_SHARED: dict[object, Any] = {}
_EMPTY: frozenset[Any] = frozenset()


def loaded(path: str) -> engine.Game:
    """The game in a file, which is read once. Raises ``GameError``."""
    game: engine.Game = pickle.loads(_pickled(path))
    # Houses have their names in common: thousands of games at once take less memory, and less of a processor's cache. And one
    # empty set stands for the many that a game has, of 216 bytes each.
    share = _SHARED.setdefault
    start = engine.State._make(part or _EMPTY if isinstance(part, frozenset) else part for part in game.start)
    return replace(
        game,
        **{
            field: tuple([share(one, one) for one in getattr(game, field)])
            for field in ("objects", "receptacles", "object_types", "accepts")
        },
        always={share(command, command): share(action, action) for command, action in game.always.items()},
        start=start._replace(lying=tuple([things or _EMPTY for things in start.lying])),
    )


_PLACES: WeakValueDictionary[str, Place] = WeakValueDictionary()


def place_of(path: str, players: int = 1) -> Place:
    """The game in a file, with the situations that its players share. Raises ``GameError``."""
    place = _PLACES.get(path)
    if place is None:
        place = _PLACES[path] = Place(loaded(path), path)
    place.join(players)
    return place


@lru_cache(_GAMES_KEPT)
def _pickled(path: str) -> bytes:
    # Ten times smaller than the game itself, and eight times as fast to make one of as its file: all of train fits.
    return pickle.dumps(engine.load_game(Path(path)), pickle.HIGHEST_PROTOCOL)


def renumbered(game: engine.Game, chance: random.Random) -> engine.Game:
    """The same game with the numbers of each kind of thing shuffled ("mug 2" may become "mug 1"). alfworld calls this domain
    randomisation: names change, the order of lists does not."""
    names = [*game.objects, *game.receptacles]
    kinds: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        kinds.setdefault(name.rpartition(" ")[0], []).append(position)
    dealt = list(names)
    for positions in kinds.values():
        for position, name in zip(positions, chance.sample([names[p] for p in positions], len(positions)), strict=True):
            dealt[position] = name
    return _named(game, tuple(dealt[: len(game.objects)]), tuple(dealt[len(game.objects) :]))


def _given(data: Mapping[str, Any]) -> engine.GameFile:
    return engine.read_published(json.dumps(dict(data)).encode(), "the given game")


def _named(game: engine.Game, objects: tuple[str, ...], receptacles: tuple[str, ...]) -> engine.Game:
    """The same game with other names. The walkthrough, which uses the old ones, is dropped."""

    def renamed(command: str, action: engine.GroundAction) -> str:
        return f"go to {receptacles[action.receptacle]}" if action.verb == "go" else command

    always = {renamed(command, action): action for command, action in game.always.items()}
    return replace(game, objects=objects, receptacles=receptacles, always=always, walkthrough=None)


Infos = dict[str, list[Any]]  # As in textworld: under each key, a list with one entry per game.


class SyncBatchEnv(core.Environment):
    """One environment for each of several games; a game that is over stays as it is, or with ``auto_reset`` starts again."""

    def __init__(self, env_fns: Sequence[Callable[[], Any]], auto_reset: bool = False) -> None:
        super().__init__()
        self.env_fns = env_fns
        self.batch_size = len(env_fns)
        self.auto_reset = auto_reset
        self.envs = [make_one() for make_one in env_fns]
        self.last: Sequence[core.Answer | None] = []

    def load(self, game_files: Sequence[str]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for env, file in zip(self.envs, game_files, strict=True):
            env.load(file)

    def seed(self, seed: int | Sequence[int] | None = None) -> list[int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Seed each environment by its own number; from one number, draw them as textworld does."""
        import numpy as np

        if isinstance(seed, int | None):
            seed = cast("list[int]", np.random.RandomState(seed).randint(65635, size=self.batch_size).tolist())
        for env, one in zip(self.envs, seed, strict=True):
            env.seed(one)
        return list(seed)

    def reset(self) -> tuple[tuple[str, ...], Infos]:
        with UncollectedStep():
            self.last = [None] * self.batch_size
            texts, infos = zip(*(env.reset() for env in self.envs), strict=True)
            return texts, _by_key(infos)

    def step(self, actions: Sequence[Any]) -> tuple[tuple[str, ...], tuple[float, ...], tuple[bool, ...], Infos]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not self.last:
            raise OrderError("These games are not being played; call reset() first.")
        if not isinstance(actions, (list, tuple)) or len(actions) != self.batch_size:
            raise core.CommandError(f"Give a list of {self.batch_size} commands, one for each game, not {shown(actions)}.")
        with UncollectedStep():
            self.last = list(map(self._answer, self.envs, self.last, actions))
            texts, scores, dones, infos = zip(*self.last, strict=True)
            return texts, scores, dones, _by_key(infos)

    def _answer(self, env: Any, last: core.Answer | None, action: Any) -> core.Answer:
        """The answer of one game, after its ``last`` one."""
        if last is None or not last[2]:
            return env.step(action)
        if not self.auto_reset:
            return last
        text, infos = env.reset()
        return text, 0.0, False, infos  # a float, as in textworld

    def render(self, mode: str = "human") -> list[Any]:
        return [env.render(mode) for env in self.envs]

    def close(self) -> None:
        for env in self.envs:
            env.close()


def make_batch(
    game_files: Iterable[str],
    asynchronous: bool = True,
    wrappers: Callable[[Any], Any] | Iterable[Callable[[Any], Any]] = (),
    **settings: Any,
) -> SyncBatchEnv:
    """A batch of these games, each loaded, `start`ed with ``settings`` and then wrapped, as by textworld's function."""
    del asynchronous
    several = (wrappers,) if callable(wrappers) else tuple(wrappers or ())

    def one(file: str) -> Any:
        return reduce(lambda env, wrapper: wrapper(env), several, start(file, **settings))

    return SyncBatchEnv([partial(one, file) for file in game_files])


class BatchEnv:
    """Games in ``batch_size`` slots, cycled through in a shuffled order, see `seed`; textworld calls it TextworldBatchGymEnv.
    ``_gamefiles_iterator`` names the next games, and may be replaced. ``asynchronous`` changes nothing here.
    ``max_episode_steps`` of 0 or None is no limit. Raises ``ConfigurationError`` for no games or a batch size below 1."""

    def __init__(
        self,
        gamefiles: Sequence[str],
        request_infos: core.EnvInfos | None = None,
        batch_size: int = 1,
        asynchronous: bool = True,
        auto_reset: bool = False,
        max_episode_steps: int | None = None,
        wrappers: Sequence[Callable[[Any], Any]] = (),
    ) -> None:
        del asynchronous
        if not isinstance(cast("object", batch_size), SupportsIndex):
            raise core.WrongValue(f"The batch size is {shown(batch_size)}, which is not a whole number.")
        if batch_size < 1:
            raise core.WrongValue(f"A batch of {batch_size} games plays nothing; give at least 1.")
        self.gamefiles, self.batch_size = gamefiles, batch_size
        self.request_infos = request_infos or core.EnvInfos()
        self.last_commands: Sequence[str | None] = [None] * batch_size
        self.obs: tuple[str, ...] = ()
        one = partial(_slot, self.request_infos, max_episode_steps or 0, tuple(wrappers))
        self.batch_env: SyncBatchEnv | None = SyncBatchEnv([one] * batch_size, auto_reset)
        self.seed(1234)

    def seed(self, seed: SupportsIndex | None = None) -> list[SupportsIndex | None]:
        """Restart the cycle of games, in textworld's order for ``seed`` (0 to 2**32 - 1; None: random)."""
        self._gamefiles_iterator: Iterator[str] = ShuffledCycle(self.gamefiles, seed)
        if self.batch_env is not None:
            self.batch_env.seed(None if seed is None else int(seed))
        return [seed]

    def skip(self, nb_games: int = 1) -> None:
        for _ in range(nb_games):
            next(self._gamefiles_iterator)

    def reset(self) -> tuple[Any, dict[str, Any]]:
        """Start the next game in every slot: observations and ``infos``. Raises ``GameError`` for a damaged game."""
        batch = self._playing()
        batch.load([next(self._gamefiles_iterator) for _ in range(self.batch_size)])
        self.last_commands = [None] * self.batch_size
        self.obs, infos = batch.reset()
        return self.obs, infos

    def step(self, commands: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Execute one command in each slot: observations, scores (1 while won), whether each is over, and ``infos``."""
        self.obs, scores, dones, infos = self._playing().step(commands)
        self.last_commands = commands
        return self.obs, scores, dones, infos

    def render(self, mode: str = "human") -> Any:
        """Print the last commands with their answers, or return them with ``mode`` "text" or "ansi"."""
        pairs = zip(self.obs, self.last_commands, strict=True)
        return core.rendered([core.answer(text, command, coloured=mode != "text") for text, command in pairs], mode)

    def close(self) -> None:
        """Drop the games; it can be called again."""
        if self.batch_env is not None:
            self.batch_env.close()
        self.batch_env = None

    def _playing(self) -> SyncBatchEnv:
        if self.batch_env is None:
            raise OrderError("This env was closed; make another.")
        return self.batch_env


class SingleEnv(BatchEnv):
    """One game with plain values in place of lists; textworld calls it TextworldGymEnv."""

    def reset(self) -> tuple[str, dict[str, Any]]:
        texts, infos = super().reset()
        return texts[0], {key: values[0] for key, values in infos.items()}

    def step(self, commands: str) -> tuple[str, float, bool, dict[str, Any]]:
        texts, scores, dones, infos = super().step([commands])
        return texts[0], scores[0], dones[0], {key: values[0] for key, values in infos.items()}


registry: dict[str, dict[str, Any]] = {}  # What `register_games` registered, by id.


def register_games(
    gamefiles: Sequence[str],
    request_infos: core.EnvInfos | None = None,
    batch_size: int | None = None,
    auto_reset: bool = False,
    max_episode_steps: int = 50,
    asynchronous: bool = True,
    name: str = "",
    **settings: Any,
) -> str:
    """Register games to play in turn under the id that is returned. Without ``batch_size``, values are plain. Raises
    ``GameError`` for games of the older grammar."""
    refuse_older(gamefiles)
    stem = f"tw-{name}" if name else "tw"
    versions = [int(id.rpartition("-v")[2]) for id in registry if id.rpartition("-v")[0] == stem]
    id, kind = f"{stem}-v{max(versions, default=-1) + 1}", SingleEnv if batch_size is None else BatchEnv
    settings |= {"gamefiles": gamefiles, "request_infos": request_infos, "batch_size": 1 if batch_size is None else batch_size}
    settings |= {"asynchronous": asynchronous, "auto_reset": auto_reset, "max_episode_steps": max_episode_steps}
    registry[id] = {"id": id, "entry_point": kind, "kwargs": settings}
    return id


def register_game(gamefile: str, *arguments: Any, **settings: Any) -> str:
    return register_games([gamefile], *arguments, **settings)


def make(id: str) -> Any:
    """The environment that was registered as ``id``. Raises ``WrongValue``, a ``ValueError``."""
    if id not in registry:
        raise core.WrongValue(f"There is no environment {shown(id)}; register games first.{nearest(id, list(registry))}")
    return registry[id]["entry_point"](**registry[id]["kwargs"])


def _slot(infos: core.EnvInfos, limit: int, wrappers: Sequence[Callable[[Any], Any]]) -> Any:
    """The environment of a slot; each has its own copy of a wrapper that was given as an instance."""
    env: Any = PddlEnv(infos)
    if OLDER.accepted and "read_as" not in infos.extras:
        infos.extras.append("read_as")
    if limit:
        env = core.Limit(env, limit)
    for wrapper in (*wrappers, core.Filter):
        env = (copy(wrapper) if isinstance(wrapper, core.TextworldWrapper) else wrapper)(env)
    return env


def _by_key(infos: Sequence[dict[str, Any]]) -> Infos:
    found: dict[str, Any] = {}
    for one in infos:
        found |= one
    for key in found:
        found[key] = [one.get(key) for one in infos]
    return found


def shuffled_cycle(iterable: Iterable[Any], rng: Any, nb_loops: int = -1) -> Iterator[Any]:
    """All of ``iterable`` in order, then ``nb_loops`` times (-1: for ever) as NumPy's ``rng`` shuffles them."""
    elements = list(iterable)
    yield from elements
    for _ in count() if nb_loops < 0 else range(nb_loops):
        rng.shuffle(elements)
        yield from elements


class ShuffledCycle(Iterator[str]):
    """Cycles through the games, shuffled before each round in textworld's order for ``seed`` (None: random). Raises
    ``ConfigurationError`` for no games and for a seed outside 0 to 2**32 - 1."""

    def __init__(self, games: Sequence[str], seed: SupportsIndex | None) -> None:
        import numpy as np

        if not games:
            raise ConfigurationError("There are no games to play; give a folder, a number and task types that leave some.")
        try:
            self._chance = np.random.RandomState(None if seed is None else operator.index(seed))
        except (TypeError, ValueError):
            raise core.WrongValue(f"The seed {shown(seed)} is not a whole number from 0 to {2**32 - 1}.") from None
        self._games = tuple(games)  # all cycles share one tuple
        self._order, self._next = np.arange(len(games), dtype=np.uint32), len(games)

    def __next__(self) -> str:
        if self._next == len(self._order):
            self._chance.shuffle(self._order)
            self._next = 0
        self._next += 1
        return self._games[int(self._order[self._next - 1])]
